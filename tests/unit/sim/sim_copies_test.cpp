#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/virtual_clock.hpp"
#include "driver/native_codes.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

constexpr DeviceId kDevice{0};

// Two pages of a device, and the same amount of host memory, registered except for the last page.
class SimCopies : public testing::Test {
 protected:
  explicit SimCopies(SimOptions options = {.memory = 8_MiB}) : driver_(options, clock_) {
    at_ = driver_.reserve(4_MiB, 2_MiB).take();
    frame_ = driver_.create_frame(kDevice, FrameLocation::kDevice, 4_MiB).take();
    EXPECT_TRUE(driver_.map(at_, 4_MiB, frame_).is_ok());
    EXPECT_TRUE(driver_.set_access(at_, 4_MiB, kDevice).is_ok());
    stream_ = driver_.create_stream(kDevice).take();
    EXPECT_TRUE(driver_.register_host(host_.data(), 3_MiB).is_ok());
  }
  ~SimCopies() override {
    EXPECT_TRUE(driver_.synchronize(stream_).is_ok());
    EXPECT_TRUE(driver_.unregister_host(host_.data()).is_ok());
    EXPECT_TRUE(driver_.destroy_stream(stream_).is_ok());
    EXPECT_TRUE(driver_.unmap(at_, 4_MiB).is_ok());
    EXPECT_TRUE(driver_.destroy_frame(frame_).is_ok());
    EXPECT_TRUE(driver_.release(at_, 4_MiB).is_ok());
  }

  HostCopy copy(Bytes device, Bytes host, Bytes bytes = 1_MiB) {
    return {at_ + device, host_.data() + host.value(), bytes};
  }
  Status out(std::vector<HostCopy> copies) { return driver_.copy_all(CopyWay::kOut, copies, stream_); }
  static void expect_refused(const Status& status, const char* word) {
    EXPECT_EQ(status.native_code(), native::kInvalidValue);
    EXPECT_NE(status.message().find(word), std::string_view::npos) << status.to_string();
  }

  SteadyClock clock_;
  SimDriver driver_;
  Address at_;
  FrameId frame_;
  StreamId stream_;
  std::vector<std::byte> host_ = std::vector<std::byte>((4_MiB).value());
};

TEST_F(SimCopies, AllOfThemAreMadeInTheOrderOfTheStream) {
  ASSERT_TRUE(driver_.fill(at_, 3, 1_MiB, stream_).is_ok());
  ASSERT_TRUE(driver_.fill(at_ + 1_MiB, 4, 1_MiB, stream_).is_ok());
  ASSERT_TRUE(out({copy(Bytes(), 1_MiB), copy(1_MiB, Bytes())}).is_ok());
  ASSERT_TRUE(driver_.fill(at_, 9, 2_MiB, stream_).is_ok());
  ASSERT_TRUE(driver_.synchronize(stream_).is_ok());
  EXPECT_EQ(host_[(1_MiB).value()], std::byte{3});
  EXPECT_EQ(host_[0], std::byte{4});
  const std::array<HostCopy, 2> back = {copy(2_MiB, 1_MiB), copy(3_MiB, Bytes())};
  ASSERT_TRUE(driver_.copy_all(CopyWay::kIn, back, stream_).is_ok());
  ASSERT_TRUE(driver_.synchronize(stream_).is_ok());
  EXPECT_EQ(*reinterpret_cast<const unsigned char*>((at_ + 2_MiB).value()), 3);
  EXPECT_EQ(*reinterpret_cast<const unsigned char*>((at_ + 3_MiB).value()), 4);
}

TEST_F(SimCopies, OneInvalidCopyRefusesTheBatch) {
  ASSERT_TRUE(driver_.fill(at_, 3, 1_MiB, stream_).is_ok());
  expect_refused(out({copy(Bytes(), Bytes()), copy(4_MiB, 1_MiB)}), "is not mapped at");
  expect_refused(out({copy(Bytes(), Bytes()), copy(1_MiB, 3_MiB)}), "is not registered");
  expect_refused(out({copy(Bytes(), Bytes()), copy(1_MiB, 512_KiB)}), "overlap");
  expect_refused(out({}), "empty batch");
  const std::array<HostCopy, 1> one = {copy(Bytes(), Bytes())};
  expect_refused(driver_.copy_all(CopyWay::kOut, one, StreamId(0)), "legacy");
  ASSERT_TRUE(driver_.synchronize(stream_).is_ok());
  EXPECT_EQ(host_[0], std::byte{0});
}

class SimOneByOne : public SimCopies {
 protected:
  SimOneByOne() : SimCopies({.memory = 8_MiB, .copies_at_once = false}) {}
};

TEST_F(SimOneByOne, BatchCopiesAreNotSupported) {
  EXPECT_EQ(out({copy(Bytes(), Bytes())}).code(), Code::kNotSupported);
}

}  // namespace
}  // namespace tessera
