#include "lab/fuzz/stamp_driver.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/page_class.hpp"
#include "base/virtual_clock.hpp"

namespace tessera {
namespace {

class StampDriverTest : public ::testing::Test {
 protected:
  StampDriverTest()
      : sim_({.devices = 2, .memory = 16_MiB, .peer = {10'000'000'000, {}}, .contents = SimContents::kNone}, clock_),
        driver_(sim_, memory_) {
    start_ = driver_.reserve(3 * kBasePage, kBasePage).take();
    stream_ = driver_.create_stream(DeviceId()).take();
    EXPECT_TRUE(driver_.register_host(host_, kBasePage).is_ok());
    for (int i = 0; i < 3; ++i) {
      const DeviceId device(i < 2 ? 0 : 1);
      const FrameId frame = driver_.create_frame(device, FrameLocation::kDevice, kBasePage).take();
      EXPECT_TRUE(driver_.map(page(i), kBasePage, frame).is_ok());
      EXPECT_TRUE(driver_.set_access(page(i), kBasePage, device).is_ok());
    }
  }

  // Two pages of the first device, then one of another.
  Address page(int number) const { return start_ + kBasePage * static_cast<std::uint64_t>(number); }
  void run(StampUse use) { EXPECT_TRUE(driver_.run_kernel(stream_, Nanoseconds(1000), {use}).is_ok()); }
  bool is_well() {
    EXPECT_TRUE(driver_.synchronize(stream_).is_ok());
    return !driver_.violation();
  }

  VirtualClock clock_;
  StampMemory memory_;
  SimDriver sim_;
  StampDriver driver_;
  Address start_;
  StreamId stream_;
  // An address suffices: nothing is read or written there.
  void* host_ = reinterpret_cast<void*>(std::uintptr_t{1} << 40);
};

TEST_F(StampDriverTest, AStampSurvivesEvictionToAnotherFrame) {
  run({page(0), kBasePage, 0, 7});
  EXPECT_TRUE(driver_.copy_out(host_, page(0), kBasePage, stream_).is_ok());
  EXPECT_TRUE(driver_.copy_in(page(1), host_, kBasePage, stream_).is_ok());
  run({page(1), kBasePage, 7, 0});
  EXPECT_TRUE(is_well()) << *driver_.violation();
}

TEST_F(StampDriverTest, AKernelThatFindsAnotherStampIsAViolation) {
  run({page(0), kBasePage, 0, 7});
  run({page(0), kBasePage, 8, 0});
  EXPECT_FALSE(is_well());
}

TEST_F(StampDriverTest, AKernelThatMayFaultDoesAllOrNothing) {
  run({page(0), 2 * kBasePage, 0, 7});
  EXPECT_TRUE(driver_.try_kernel(stream_, {page(0), 2 * kBasePage, 7, 8}).take());
  ASSERT_TRUE(driver_.unmap(page(1), kBasePage).is_ok());
  EXPECT_FALSE(driver_.try_kernel(stream_, {page(0), 2 * kBasePage, 8, 9}).take());
  EXPECT_TRUE(driver_.try_kernel(stream_, {page(0), kBasePage, 8, 0}).take()) << "half of the range is unchanged";
  EXPECT_TRUE(is_well()) << *driver_.violation();
  EXPECT_TRUE(driver_.try_kernel(stream_, {page(0), kBasePage, 9, 0}).take());
  EXPECT_FALSE(is_well());
}

TEST_F(StampDriverTest, CopiesStampsToAnotherDevice) {
  run({page(0) + 1_MiB, 1_MiB, 0, 7});
  run({page(1), 1_MiB, 0, 8});
  EXPECT_TRUE(driver_.copy(page(2), page(0) + 1_MiB, 2_MiB, stream_).is_ok()) << "of two frames to one";
  run({page(2), 1_MiB, 7, 0});
  run({page(2) + 1_MiB, 1_MiB, 8, 0});
  run({page(0), 2_MiB, 0, 1});
  run({page(1), 1_MiB, 0, 2});
  EXPECT_TRUE(driver_.copy(page(0) + 1_MiB, page(2), 2_MiB, stream_).is_ok()) << "of one frame to two";
  run({page(0) + 1_MiB, 1_MiB, 7, 0});
  run({page(1), 1_MiB, 8, 0});
  EXPECT_TRUE(is_well()) << *driver_.violation();
}

TEST_F(StampDriverTest, ASourceThatChangesUnderACopyToAnotherDeviceLeavesTornBytes) {
  run({page(0), kBasePage, 0, 7});
  ASSERT_TRUE(is_well());
  const StreamId other = driver_.create_stream(DeviceId()).take();
  EXPECT_TRUE(driver_.copy(page(2), page(0), kBasePage, stream_).is_ok());
  ASSERT_TRUE(driver_.run_kernel(other, Nanoseconds(1000), {{page(0), kBasePage, 7, 9}}).is_ok());
  ASSERT_TRUE(is_well()) << *driver_.violation();
  run({page(2), kBasePage, 9, 0});
  ASSERT_FALSE(is_well());
  EXPECT_NE(driver_.violation()->find("found torn bytes"), std::string::npos) << *driver_.violation();
  EXPECT_TRUE(driver_.synchronize(other).is_ok());
}

TEST_F(StampDriverTest, ACopyWithinADeviceIsAViolation) {
  EXPECT_TRUE(driver_.copy(page(2), page(0), 1_MiB, stream_).is_ok());
  ASSERT_TRUE(is_well()) << *driver_.violation();
  EXPECT_TRUE(driver_.copy(page(1), page(0), 1_MiB, stream_).is_ok());
  ASSERT_FALSE(is_well());
  EXPECT_EQ(*driver_.violation(), "a copy within the device");
}

TEST_F(StampDriverTest, ACopyToWhereNothingIsMappedIsAViolation) {
  EXPECT_FALSE(driver_.copy(page(2) + 1_MiB, page(0), 2_MiB, stream_).is_ok());
  ASSERT_FALSE(is_well());
  EXPECT_NE(driver_.violation()->find("nothing is mapped"), std::string::npos) << *driver_.violation();
}

TEST_F(StampDriverTest, IllegalCallsAreNoted) {
  EXPECT_FALSE(driver_.unmap(page(0), 1_MiB).is_ok());
  ASSERT_TRUE(driver_.violation());
  EXPECT_NE(driver_.violation()->find("illegal unmap"), std::string::npos);
}

TEST_F(StampDriverTest, AFingerprintIsThatOfTheStampsAndLikeNoneWhileTheyAreWritten) {
  std::vector<Fingerprint> prints(4 * 32);
  ASSERT_TRUE(driver_.register_host(prints.data(), Bytes(prints.size() * sizeof(prints[0]))).is_ok());
  const auto take = [&](int number, std::size_t at) {
    const DeviceRange range{page(number), kBasePage};
    EXPECT_TRUE(driver_.fingerprint(DeviceId(), {&range, 1}, &prints[at * 32], stream_).is_ok());
  };
  run({page(0), kBasePage, 0, 7});
  run({page(1), kBasePage, 0, 7});
  take(0, 0);
  take(1, 1);
  run({page(1), kBasePage, 7, 8});
  take(1, 2);
  ASSERT_TRUE(is_well()) << *driver_.violation();
  EXPECT_EQ(prints[0], prints[32]);
  EXPECT_NE(prints[0], prints[64]);
  // Two fingerprints of one torn page.
  const StreamId other = driver_.create_stream(DeviceId()).take();
  ASSERT_TRUE(driver_.run_kernel(other, Nanoseconds(1'000'000), {{page(0), kBasePage, 7, 9}}).is_ok());
  take(0, 2);
  take(0, 3);
  ASSERT_TRUE(is_well()) << *driver_.violation();
  EXPECT_NE(prints[64], prints[96]);
  EXPECT_TRUE(driver_.synchronize(other).is_ok());
}

TEST_F(StampDriverTest, CopiesCanBeLate) {
  driver_.delay_copies(1, Nanoseconds(5000));
  EXPECT_TRUE(driver_.copy_out(host_, page(0), kBasePage, stream_).is_ok());
  EXPECT_TRUE(is_well());
  const Nanoseconds late = clock_.now();
  EXPECT_GE(late, Nanoseconds(5000));
  EXPECT_TRUE(driver_.copy_out(host_, page(0), kBasePage, stream_).is_ok());
  EXPECT_TRUE(is_well());
  EXPECT_LT(clock_.now() - late, Nanoseconds(5000)) << "only one was";
}

}  // namespace
}  // namespace tessera
