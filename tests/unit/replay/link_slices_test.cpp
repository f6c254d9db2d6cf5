#include "lab/replay/link_slices.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/virtual_clock.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

// Two copies queued at once: the second gets the link when the first is over.
TEST(LinkSlices, RecordsEachCopyFromWhenItHasTheLink) {
  VirtualClock clock;
  LinkSlices links;
  SimDriver driver(
      {.memory = 64_MiB, .inbound = {1'000'000'000, {}}, .contents = SimContents::kNone, .watcher = &links}, clock);
  const DeviceId device;
  const Address at = driver.reserve(4_MiB, 2_MiB).take();
  const FrameId frame = driver.create_frame(device, FrameLocation::kDevice, 4_MiB).take();
  ASSERT_TRUE(driver.map(at, 4_MiB, frame).is_ok());
  ASSERT_TRUE(driver.set_access(at, 4_MiB, device).is_ok());
  std::vector<char> host(3'000'000);
  ASSERT_TRUE(driver.register_host(host.data(), Bytes(host.size())).is_ok());
  const StreamId stream = driver.create_stream(device).take();
  ASSERT_TRUE(driver.copy_in(at, host.data(), Bytes(1'000'000), stream).is_ok());
  ASSERT_TRUE(driver.copy_in(at, host.data(), Bytes(2'000'000), stream).is_ok());
  ASSERT_TRUE(driver.occupy(stream, Nanoseconds(5), {}).is_ok());
  ASSERT_TRUE(driver.copy_out(host.data(), at, Bytes(3'000'000), stream).is_ok());
  ASSERT_TRUE(driver.synchronize(device).is_ok());

  ASSERT_EQ(links.slices().size(), 3u) << "an operation passes no link";
  const TrackSlice &first = links.slices()[0], &second = links.slices()[1], &out = links.slices()[2];
  EXPECT_EQ(first.begin, Nanoseconds(0));
  EXPECT_EQ(first.end, Nanoseconds(1'000'000));
  EXPECT_EQ(second.begin, first.end);
  EXPECT_EQ(second.end, Nanoseconds(3'000'000));
  EXPECT_EQ(second.track, "link in");
  EXPECT_EQ(second.name, "copy_in");
  EXPECT_EQ(second.bytes, Bytes(2'000'000));
  EXPECT_EQ(out.track, "link out");
  EXPECT_EQ(out.begin, Nanoseconds(3'000'005));

  EXPECT_TRUE(driver.destroy_stream(stream).is_ok());
  EXPECT_TRUE(driver.unregister_host(host.data()).is_ok());
  EXPECT_TRUE(driver.unmap(at, 4_MiB).is_ok());
  EXPECT_TRUE(driver.destroy_frame(frame).is_ok());
  EXPECT_TRUE(driver.release(at, 4_MiB).is_ok());
}

TEST(LinkSlices, CopiesBetweenDevicesHaveTracksOfTheirOwn) {
  VirtualClock clock;
  LinkSlices links;
  SimDriver driver(
      {.devices = 2, .memory = 64_MiB, .peer = {1'000'000'000, {}}, .contents = SimContents::kNone, .watcher = &links},
      clock);
  const Address at = driver.reserve(4_MiB, 2_MiB).take();
  std::vector<FrameId> frames;
  for (const DeviceId device : {DeviceId(0), DeviceId(1)}) {
    const Address page = at + device.value() * 2_MiB;
    frames.push_back(driver.create_frame(device, FrameLocation::kDevice, 2_MiB).take());
    ASSERT_TRUE(driver.map(page, 2_MiB, frames.back()).is_ok());
    ASSERT_TRUE(driver.set_access(page, 2_MiB, device).is_ok());
  }
  const StreamId stream = driver.create_stream(DeviceId(1)).take();
  ASSERT_TRUE(driver.copy(at + 2_MiB, at, Bytes(1'000'000), stream).is_ok());
  ASSERT_TRUE(driver.copy(at, at + 2_MiB, Bytes(500'000), stream).is_ok());
  ASSERT_TRUE(driver.copy(at, at + 1_MiB, Bytes(500'000), stream).is_ok());
  ASSERT_TRUE(driver.synchronize(stream).is_ok());

  ASSERT_EQ(links.slices().size(), 2u) << "a copy within a device passes no link";
  const TrackSlice &in = links.slices()[0], &out = links.slices()[1];
  EXPECT_EQ(in.track, "peer in");
  EXPECT_EQ(in.device, 1);
  EXPECT_EQ(in.end, Nanoseconds(1'000'000));
  EXPECT_EQ(in.bytes, Bytes(1'000'000));
  EXPECT_EQ(out.track, "peer out");
  EXPECT_EQ(out.begin, Nanoseconds(1'000'000));
  EXPECT_EQ(out.end, Nanoseconds(1'500'000));

  EXPECT_TRUE(driver.destroy_stream(stream).is_ok());
  EXPECT_TRUE(driver.unmap(at, 4_MiB).is_ok());
  for (const FrameId frame : frames) EXPECT_TRUE(driver.destroy_frame(frame).is_ok());
  EXPECT_TRUE(driver.release(at, 4_MiB).is_ok());
}

}  // namespace
}  // namespace tessera
