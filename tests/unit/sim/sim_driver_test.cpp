#include "sim/sim_driver.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <thread>

#include "base/virtual_clock.hpp"
#include "driver/native_codes.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class SimDriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    stream_ = driver().create_stream(kDevice).take();
    at_ = memory();
  }

  SimDriver& driver() { return machine_.driver(); }
  Address memory(DeviceId device = kDevice) {
    const Address at = driver().reserve(2_MiB, 2_MiB).take();
    const FrameId frame = driver().create_frame(device, FrameLocation::kDevice, 2_MiB).take();
    EXPECT_TRUE(driver().map(at, 2_MiB, frame).is_ok());
    EXPECT_TRUE(driver().set_access(at, 2_MiB, device).is_ok());
    return at;
  }
  // All work queued on the stream from now on waits for release().
  void hold(StreamId stream) {
    ASSERT_TRUE(driver().host_function(stream, [gate = gate_.get_future().share()] { gate.wait(); }).is_ok());
  }
  void release() { gate_.set_value(); }
  Status churn(Address data, StreamId stream, std::uint32_t count = 1) {
    std::byte block[16];
    const std::uint32_t rounds = 1;
    const std::uint64_t address = data.value();
    std::memcpy(block, &address, 8);
    std::memcpy(block + 8, &count, 4);
    std::memcpy(block + 12, &rounds, 4);
    return driver().launch(
        {.kernel = churn_kernel(), .grid = {1, 1, 1}, .block = {1, 1, 1}, .shared_bytes = 0, .parameters = block},
        stream);
  }
  static void expect_words(const Status& status, int native, std::initializer_list<const char*> words) {
    EXPECT_EQ(status.native_code(), native) << status.to_string();
    for (const char* word : words) {
      EXPECT_NE(status.message().find(word), std::string_view::npos) << status.message();
    }
  }

  SimMachine machine_{{.devices = 2, .memory = 64_MiB}};
  std::promise<void> gate_;
  StreamId stream_;
  Address at_;
};

TEST_F(SimDriverTest, UnmappingWhatAQueuedFillMayTouchNamesBoth) {
  hold(stream_);
  ASSERT_TRUE(driver().fill(at_ + 1_KiB, 1, 1_KiB, stream_).is_ok());
  expect_words(driver().unmap(at_, 2_MiB), native::kInvalidValue, {"unmap of [", "fill of ["});
  release();
  ASSERT_TRUE(driver().synchronize(stream_).is_ok());
  EXPECT_TRUE(driver().unmap(at_, 2_MiB).is_ok());
}

TEST_F(SimDriverTest, UnmappingWhatAQueuedKernelPointsIntoNamesTheKernel) {
  const Address other = memory();
  hold(stream_);
  ASSERT_TRUE(churn(at_ + 512_KiB, stream_).is_ok());
  expect_words(driver().unmap(at_, 2_MiB), native::kInvalidValue, {"kernel churn with 0x"});
  EXPECT_TRUE(driver().unmap(other, 2_MiB).is_ok()) << "nothing queued points there";
  release();
  ASSERT_TRUE(driver().synchronize(stream_).is_ok());
  EXPECT_TRUE(driver().unmap(at_, 2_MiB).is_ok());
}

TEST_F(SimDriverTest, CopiesOutsideOfMappingsAreRefused) {
  std::vector<std::byte> host(4 << 20);
  const Bytes more = 2_MiB + Bytes(1);
  expect_words(driver().copy_in(at_, host.data(), more, stream_), native::kInvalidValue, {"is not mapped at"});
  expect_words(driver().copy_out(host.data(), Address(0x1000), 8_B, stream_), native::kInvalidValue,
               {"is not mapped at 0x1000"});
  expect_words(driver().fill(at_, 0, more, stream_), native::kInvalidValue, {"is not mapped at"});
  expect_words(driver().copy(at_, Address(0), 8_B, stream_), native::kInvalidValue, {"0x0"});
}

TEST_F(SimDriverTest, HostPointersThatAreNoneAreRefused) {
  const void* const device = reinterpret_cast<const void*>(at_.value());
  expect_words(driver().copy_in(at_, nullptr, 8_B, stream_), native::kInvalidValue, {"not host memory"});
  expect_words(driver().copy_in(at_, device, 8_B, stream_), native::kInvalidValue, {"reserved range of the device"});
}

TEST_F(SimDriverTest, PinnedMemoryInUseCannotBeUnpinned) {
  std::vector<std::byte> host(1 << 20);
  ASSERT_TRUE(driver().register_host(host.data(), 1_MiB).is_ok());
  EXPECT_TRUE(driver().is_registered(host.data() + 100, 1_KiB));
  EXPECT_FALSE(driver().is_registered(host.data() + 100, 1_MiB));
  hold(stream_);
  ASSERT_TRUE(driver().copy_in(at_, host.data(), 1_MiB, stream_).is_ok()) << "does not wait";
  expect_words(driver().unregister_host(host.data()), native::kInvalidValue, {"unregister_host of [", "copy_in of ["});
  release();
  ASSERT_TRUE(driver().synchronize(stream_).is_ok());
  EXPECT_TRUE(driver().unregister_host(host.data()).is_ok());
  EXPECT_FALSE(driver().is_registered(host.data()));
}

TEST_F(SimDriverTest, ASmallPageableCopyInIsStagedAndDoesNotWait) {
  hold(stream_);
  std::uint32_t value = 5;
  ASSERT_TRUE(driver().copy_in(at_, &value, 4_B, stream_).is_ok());
  value = 6;
  release();
  ASSERT_TRUE(driver().copy_out(&value, at_, 4_B, stream_).is_ok());
  EXPECT_EQ(value, 5U);
}

TEST_F(SimDriverTest, AKernelThatTouchesWhatIsNotMappedPoisonsItsDevice) {
  const Address unmapped = driver().reserve(2_MiB, 2_MiB).take();
  ASSERT_TRUE(churn(unmapped, stream_).is_ok()) << "a launch does not look";
  expect_words(driver().synchronize(stream_), native::kIllegalAddress,
               {"kernel churn touched 0x", "where nothing is mapped"});
  EXPECT_EQ(driver().synchronize(kDevice).native_code(), native::kIllegalAddress);
  EXPECT_EQ(driver().fill(at_, 0, 8_B, stream_).native_code(), native::kIllegalAddress);
  EXPECT_EQ(churn(at_, stream_).native_code(), native::kIllegalAddress);
  EXPECT_TRUE(driver().synchronize(DeviceId(1)).is_ok());
  EXPECT_TRUE(driver().unmap(at_, 2_MiB).is_ok()) << "what is left can still be given back";
}

TEST_F(SimDriverTest, TheLegacyStreamWaitsForBlockingStreams) {
  const StreamId blocking = driver().create_stream(kDevice, true).take();
  hold(blocking);
  ASSERT_TRUE(driver().fill(at_, 1, 4_B, blocking).is_ok());
  ASSERT_TRUE(driver().fill(at_, 2, 4_B, StreamId(0)).is_ok());
  ASSERT_TRUE(driver().fill(at_ + 4_B, 3, 4_B, stream_).is_ok());
  EXPECT_TRUE(driver().synchronize(stream_).is_ok()) << "a non-blocking stream does not wait";
  EXPECT_EQ(driver().query(StreamId(1)).code(), Code::kNotReady) << "1 is the legacy stream too";
  release();
  std::uint32_t value = 0;
  ASSERT_TRUE(driver().copy_out(&value, at_, 4_B, StreamId(0)).is_ok());
  EXPECT_EQ(value, 0x02020202U);
}

TEST_F(SimDriverTest, DefaultStreamsAreThoseOfTheThreadsCurrentDevice) {
  EXPECT_EQ(driver().device_of(StreamId(0)).value(), kDevice);
  ASSERT_TRUE(driver().set_current_device(DeviceId(1)).is_ok());
  EXPECT_EQ(driver().device_of(StreamId(0)).value(), DeviceId(1));
  EXPECT_EQ(driver().device_of(StreamId(2)).value(), DeviceId(1));
  const DeviceId elsewhere =
      std::async(std::launch::async, [this] { return driver().device_of(StreamId(2)).take(); }).get();
  EXPECT_EQ(elsewhere, kDevice);
  EXPECT_EQ(driver().set_current_device(DeviceId(2)).code(), Code::kInvalidArgument);
  SimMachine other;
  EXPECT_EQ(other.driver().device_of(StreamId(0)).value(), kDevice) << "a driver's own choice";
}

TEST_F(SimDriverTest, PeersCopyWhatEachHasAccessTo) {
  const Address there = memory(DeviceId(1));
  ASSERT_TRUE(driver().fill(at_, 9, 4_B, stream_).is_ok());
  ASSERT_TRUE(driver().copy(there, at_, 4_B, stream_).is_ok());
  std::uint32_t value = 0;
  ASSERT_TRUE(driver().copy_out(&value, there, 4_B, stream_).is_ok());
  EXPECT_EQ(value, 0x09090909U);
}

TEST_F(SimDriverTest, WideFillsNeedTheirAlignment) {
  ASSERT_TRUE(driver().fill_elements(at_, 0x01020304, 4, 2, stream_).is_ok());
  std::uint32_t values[2] = {};
  ASSERT_TRUE(driver().copy_out(values, at_, 8_B, stream_).is_ok());
  EXPECT_EQ(values[1], 0x01020304U);
  EXPECT_FALSE(driver().fill_elements(at_ + 2_B, 1, 4, 1, stream_).is_ok());
  EXPECT_FALSE(driver().fill_elements(at_, 1, 3, 1, stream_).is_ok());
  EXPECT_FALSE(driver().fill_elements(at_, 1, 4, ~std::uint64_t{0} / 2, stream_).is_ok());
}

TEST_F(SimDriverTest, ACopyOverTheLinkKeepsItsPace) {
  SimMachine slow({.memory = 64_MiB, .inbound = {.bytes_per_second = 100'000'000}});
  const Address at = slow.driver().reserve(2_MiB, 2_MiB).take();
  const FrameId frame = slow.driver().create_frame(kDevice, FrameLocation::kDevice, 2_MiB).take();
  ASSERT_TRUE(slow.driver().map(at, 2_MiB, frame).is_ok());
  ASSERT_TRUE(slow.driver().set_access(at, 2_MiB, kDevice).is_ok());
  std::vector<std::byte> host(1 << 20);
  SteadyClock clock;
  const Nanoseconds start = clock.now();
  ASSERT_TRUE(slow.driver().copy_in(at, host.data(), 1_MiB, StreamId(0)).is_ok());
  EXPECT_GE(clock.now() - start, Nanoseconds(10'000'000));
}

TEST_F(SimDriverTest, WithoutVirtualMemoryReportsNotSupported) {
  SimMachine plain({.memory = 64_MiB, .virtual_memory = false});
  EXPECT_FALSE(plain.driver().properties(kDevice).value().virtual_memory);
  EXPECT_EQ(plain.driver().reserve(2_MiB, 2_MiB).status().code(), Code::kNotSupported);
  EXPECT_EQ(plain.driver().create_frame(kDevice, FrameLocation::kDevice, 2_MiB).status().code(), Code::kNotSupported);
}

TEST_F(SimDriverTest, ListsLeaksAndNothingReleased) {
  const auto mapping = driver().mapping_at(at_ + 1_MiB);
  ASSERT_TRUE(mapping.has_value());
  const EventId event = driver().create_event(kDevice).take();
  EXPECT_EQ(driver().leaks().size(), 4U) << "a stream, an event, a frame, a range";
  EXPECT_TRUE(driver().destroy_event(event).is_ok());
  EXPECT_TRUE(driver().destroy_stream(stream_).is_ok());
  EXPECT_TRUE(driver().unmap(at_, 2_MiB).is_ok());
  EXPECT_TRUE(driver().destroy_frame(mapping->frame.frame).is_ok());
  EXPECT_TRUE(driver().release(at_, 2_MiB).is_ok());
  EXPECT_TRUE(driver().leaks().empty());
}

// ---- mapping takes time -------------------------------------------------------------------------

TEST(SimMapping, TakesVirtualTimeForEachFrameAlsoIfMemoryIsNotWatched) {
  for (const bool watches : {true, false}) {
    VirtualClock clock;
    SimDriver sim({.memory = 64_MiB,
                   .calls = {.frame = {}, .mapping = Nanoseconds(65'000), .copy_turn = {}},
                   .contents = SimContents::kNone,
                   .watches_memory = watches},
                  clock);
    const Address at = sim.reserve(34_MiB, 2_MiB).take();
    const FrameId small = sim.create_frame(kDevice, FrameLocation::kDevice, 2_MiB).take();
    const FrameId large = sim.create_frame(kDevice, FrameLocation::kDevice, 32_MiB).take();
    EXPECT_TRUE(sim.map(at, 2_MiB, small).is_ok());
    EXPECT_EQ(clock.now(), Nanoseconds(65'000));
    EXPECT_TRUE(sim.map(at + 2_MiB, 32_MiB, large).is_ok());
    EXPECT_EQ(clock.now(), Nanoseconds(130'000)) << "no longer for a large one";
    EXPECT_TRUE(sim.unmap(at, 34_MiB).is_ok());
    EXPECT_EQ(clock.now(), Nanoseconds(130'000));
    EXPECT_TRUE(sim.destroy_frame(small).is_ok());
    EXPECT_TRUE(sim.destroy_frame(large).is_ok());
    EXPECT_TRUE(sim.release(at, 34_MiB).is_ok());
  }
}

TEST(SimMapping, WaitsForCopiesToTheHostInFlightButNotForLong) {
  VirtualClock clock;
  constexpr Nanoseconds kCopy(100'000), kTurn(350'000);
  SimDriver sim({.memory = 64_MiB,
                 .outbound = {(2_MiB).value() * 10'000, {}},  // a page in 100 us
                 .calls = {.frame = {}, .mapping = {}, .copy_turn = kTurn},
                 .contents = SimContents::kNone},
                clock);
  const Address at = sim.reserve(6_MiB, 2_MiB).take();
  const StreamId out = sim.create_stream(kDevice).take();
  std::vector<FrameId> frames;
  for (int i = 0; i < 3; ++i) frames.push_back(sim.create_frame(kDevice, FrameLocation::kDevice, 2_MiB).take());
  ASSERT_TRUE(sim.map(at, 2_MiB, frames[0]).is_ok());
  EXPECT_EQ(clock.now(), Nanoseconds()) << "nothing is copied";
  ASSERT_TRUE(sim.set_access(at, 2_MiB, kDevice).is_ok());
  std::vector<std::byte> host((2_MiB).value());
  ASSERT_TRUE(sim.register_host(host.data(), 2_MiB).is_ok());
  const auto copy = [&] { ASSERT_TRUE(sim.copy_out(host.data(), at, 2_MiB, out).is_ok()); };
  copy();
  ASSERT_TRUE(sim.map(at + 2_MiB, 2_MiB, frames[1]).is_ok());
  EXPECT_EQ(clock.now(), kCopy) << "until the copy was over";
  for (int i = 0; i < 5; ++i) copy();
  ASSERT_TRUE(sim.map(at + 4_MiB, 2_MiB, frames[2]).is_ok());
  EXPECT_EQ(clock.now(), kCopy + kTurn) << "while others were queued";
  ASSERT_TRUE(sim.synchronize(out).is_ok());
  ASSERT_TRUE(sim.unregister_host(host.data()).is_ok());
  ASSERT_TRUE(sim.unmap(at, 6_MiB).is_ok());
  for (const FrameId frame : frames) ASSERT_TRUE(sim.destroy_frame(frame).is_ok());
  ASSERT_TRUE(sim.destroy_stream(out).is_ok());
  ASSERT_TRUE(sim.release(at, 6_MiB).is_ok());
}

TEST(SimFrames, TakeVirtualTimeToCreate) {
  VirtualClock clock;
  SimDriver sim({.memory = 64_MiB, .calls = {.frame = Nanoseconds(20'000), .mapping = {}, .copy_turn = {}}}, clock);
  const FrameId frame = sim.create_frame(kDevice, FrameLocation::kDevice, 2_MiB).take();
  EXPECT_EQ(clock.now(), Nanoseconds(20'000));
  ASSERT_TRUE(sim.destroy_frame(frame).is_ok());
  EXPECT_EQ(clock.now(), Nanoseconds(20'000));
}

// ---- pinning takes time -------------------------------------------------------------------------

TEST(SimPinning, TakesVirtualTimeByTheByteAndSoDoesUnpinning) {
  VirtualClock clock;
  SimDriver sim({.memory = 64_MiB, .pinning = {10'000'000'000, {}}}, clock);
  std::vector<std::byte> memory(10'000'000);
  ASSERT_TRUE(sim.register_host(memory.data(), Bytes(memory.size())).is_ok());
  EXPECT_EQ(clock.now(), Nanoseconds(1'000'000));
  ASSERT_TRUE(sim.unregister_host(memory.data()).is_ok());
  EXPECT_EQ(clock.now(), Nanoseconds(2'000'000));
  const auto frame = sim.create_frame(kDevice, FrameLocation::kHost, 2_MiB);
  ASSERT_TRUE(frame.is_ok()) << frame.status().to_string();
  EXPECT_EQ(clock.now(), Nanoseconds(2'209'716)) << "memory that is made pinned";
  EXPECT_TRUE(sim.destroy_frame(frame.value()).is_ok());
}

// The other thread's call begins while memory is being pinned, or before; in the first case the clock shows it.
TEST(SimPinning, OtherMemoryCallsWaitForPinning) {
  SteadyClock clock;
  constexpr Nanoseconds kLong(200'000'000);
  SimDriver sim({.memory = 64_MiB, .pinning = {0, kLong}}, clock);
  std::vector<std::byte> memory(1 << 20);
  std::atomic<bool> began{false};
  Nanoseconds start;
  std::thread pinning([&] {
    start = clock.now();
    began = true;
    began.notify_all();
    EXPECT_TRUE(sim.register_host(memory.data(), Bytes(memory.size())).is_ok());
  });
  began.wait(false);
  while (!sim.is_registered(memory.data(), Bytes(memory.size()))) std::this_thread::yield();
  EXPECT_GE(clock.now() - start, kLong) << "the first call that saw it pinned came after";
  pinning.join();
  EXPECT_TRUE(sim.unregister_host(memory.data()).is_ok());
}

}  // namespace
}  // namespace tessera
