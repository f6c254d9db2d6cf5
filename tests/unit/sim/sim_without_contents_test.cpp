// The simulated device without bytes and without real time: a large GPU anywhere, with the same checks.
#include <gtest/gtest.h>

#include "base/virtual_clock.hpp"
#include "driver/native_codes.hpp"
#include "sim/sim_driver.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class SimWithoutContentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    at_ = driver_.reserve(64_GiB, 2_MiB).take();
    frame_ = driver_.create_frame(kDevice, FrameLocation::kDevice, 32_GiB).take();
    ASSERT_TRUE(driver_.map(at_, 32_GiB, frame_).is_ok());
    stream_ = driver_.create_stream(kDevice).take();
  }
  void allow() { ASSERT_TRUE(driver_.set_access(at_, 32_GiB, kDevice).is_ok()); }

  VirtualClock clock_;
  SimDriver driver_{{.memory = 80_GiB, .inbound = {32'000'000'000, Nanoseconds()}, .contents = SimContents::kNone},
                    clock_};
  Address at_;
  FrameId frame_;
  StreamId stream_;
  // Never accessed: there is nothing to copy.
  void* const host_ = reinterpret_cast<void*>(std::uintptr_t{1} << 40);
};

TEST_F(SimWithoutContentsTest, CopiesTakeTheTimeOfTheirLinkAndTouchNothing) {
  allow();
  ASSERT_TRUE(driver_.register_host(host_, 32_GiB).is_ok());
  ASSERT_TRUE(driver_.copy_in(at_, host_, 32_GiB, stream_).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(0));
  ASSERT_TRUE(driver_.synchronize(stream_).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(1'073'741'824));
  ASSERT_TRUE(driver_.fill(at_, 1, 1_GiB, stream_).is_ok());
  ASSERT_TRUE(driver_.synchronize(stream_).is_ok());
}

TEST_F(SimWithoutContentsTest, RefusesWhatTheFullDriverRefuses) {
  EXPECT_EQ(driver_.map(at_, 32_GiB, frame_).native_code(), native::kInvalidValue) << "twice";
  EXPECT_EQ(driver_.copy_in(at_, host_, 2_MiB, stream_).native_code(), native::kInvalidValue) << "without access";
  EXPECT_EQ(driver_.unmap(at_, 2_MiB).native_code(), native::kInvalidValue) << "a part";
  EXPECT_EQ(driver_.create_frame(kDevice, FrameLocation::kDevice, 64_GiB).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(driver_.release(at_, 64_GiB).native_code(), native::kInvalidValue) << "mapped";
}

TEST_F(SimWithoutContentsTest, AnUnwatchedDriverIgnoresMappings) {
  VirtualClock clock;
  SimDriver driver({.memory = 80_GiB,
                    .inbound = {32'000'000'000, Nanoseconds()},
                    .contents = SimContents::kNone,
                    .watches_memory = false},
                   clock);
  const Address at = driver.reserve(2_MiB, 2_MiB).take();
  const FrameId frame = driver.create_frame(kDevice, FrameLocation::kDevice, 2_MiB).take();
  const StreamId stream = driver.create_stream(kDevice).take();
  const DeviceRange range{at, 2_MiB};
  ASSERT_TRUE(driver.occupy(stream, Nanoseconds(777), {&range, 1}).is_ok()) << "nothing is mapped";
  EXPECT_TRUE(driver.map(at, 2_MiB, frame).is_ok());
  EXPECT_TRUE(driver.set_access(at, 2_MiB, kDevice).is_ok());
  EXPECT_TRUE(driver.unmap(at, 2_MiB).is_ok()) << "in use";
  EXPECT_TRUE(driver.synchronize(stream).is_ok());
  EXPECT_EQ(clock.now(), Nanoseconds(777));
  ASSERT_TRUE(driver.register_host(host_, 2_MiB).is_ok());
  const HostCopy copy{at, host_, 2_MiB};
  ASSERT_TRUE(driver.copy_all(CopyWay::kIn, {&copy, 1}, stream).is_ok());
  EXPECT_TRUE(driver.synchronize(stream).is_ok());
  EXPECT_EQ(clock.now(), Nanoseconds(777 + 65'536));
  EXPECT_TRUE(driver.unregister_host(host_).is_ok());
  EXPECT_TRUE(driver.destroy_stream(stream).is_ok());
  EXPECT_TRUE(driver.destroy_frame(frame).is_ok());
  EXPECT_TRUE(driver.release(at, 2_MiB).is_ok());
}

TEST_F(SimWithoutContentsTest, AKernelOfNoCodeTakesItsTimeAndGuardsItsRanges) {
  allow();
  const DeviceRange range{at_ + 2_MiB, 4_MiB};
  ASSERT_TRUE(driver_.occupy(stream_, Nanoseconds(777), {&range, 1}).is_ok());
  EXPECT_EQ(driver_.unmap(at_, 32_GiB).native_code(), native::kInvalidValue) << "in use";
  ASSERT_TRUE(driver_.synchronize(stream_).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(777));
  EXPECT_TRUE(driver_.unmap(at_, 32_GiB).is_ok());
  EXPECT_EQ(driver_.occupy(stream_, Nanoseconds(1), {&range, 1}).native_code(), native::kInvalidValue)
      << "not mapped any more";
}

// Copies and kernels have the link in turn; bytes in host memory take the link's time or their share of the kernel's.
TEST_F(SimWithoutContentsTest, AKernelReadsHostMemoryOverTheLink) {
  allow();
  const FrameId host = driver_.create_frame(kDevice, FrameLocation::kHost, 32_MiB).take();
  const Address at = at_ + 32_GiB;
  ASSERT_TRUE(driver_.map(at, 32_MiB, host).is_ok());
  ASSERT_TRUE(driver_.set_access(at, 32_MiB, kDevice).is_ok());
  const DeviceRange half{at_ + (32_GiB - 32_MiB), 64_MiB};
  constexpr std::uint64_t kLink = 1'048'576;  // nanoseconds for the half in host memory
  const auto time_of = [&](std::uint64_t kernel) {
    const Nanoseconds before = clock_.now();
    EXPECT_TRUE(driver_.occupy(stream_, Nanoseconds(kernel), {&half, 1}).is_ok());
    EXPECT_TRUE(driver_.synchronize(stream_).is_ok());
    return (clock_.now() - before).value();
  };
  EXPECT_EQ(time_of(0), kLink);
  EXPECT_EQ(time_of(1000), kLink + 500);
  EXPECT_EQ(time_of(4 * kLink), 4 * kLink);

  const StreamId other = driver_.create_stream(kDevice).take();
  ASSERT_TRUE(driver_.register_host(host_, 32_MiB).is_ok());
  ASSERT_TRUE(driver_.copy_in(at_, host_, 32_MiB, other).is_ok());
  EXPECT_EQ(time_of(1000), 2 * kLink + 500) << "behind the copy";
  EXPECT_TRUE(driver_.occupy(stream_, Nanoseconds(1000), {&half, 1}).is_ok());
  EXPECT_EQ(driver_.unmap(at, 32_MiB).native_code(), native::kInvalidValue) << "in use";
}

}  // namespace
}  // namespace tessera
