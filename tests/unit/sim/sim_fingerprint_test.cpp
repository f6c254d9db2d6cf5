// Fingerprint requests rejected by the strict device, and their cost in virtual time; tests/contract checks their
// values.
#include <gtest/gtest.h>

#include <vector>

#include "base/virtual_clock.hpp"
#include "driver/native_codes.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

class SimFingerprint : public testing::Test {
 protected:
  explicit SimFingerprint(SimOptions options = {.devices = 2,
                                                .memory = 8_MiB,
                                                .fingerprints = {2'097'152'000, Nanoseconds(500)}})
      : driver_(options, clock_) {
    at_ = driver_.reserve(4_MiB, 2_MiB).take();
    frame_ = driver_.create_frame(DeviceId(0), FrameLocation::kDevice, 4_MiB).take();
    EXPECT_TRUE(driver_.map(at_, 4_MiB, frame_).is_ok());
    EXPECT_TRUE(driver_.set_access(at_, 4_MiB, DeviceId(0)).is_ok());
    stream_ = driver_.create_stream(DeviceId(0)).take();
    EXPECT_TRUE(driver_.register_host(results_.data(), Bytes(64 * sizeof(Fingerprint))).is_ok());
  }
  ~SimFingerprint() override {
    EXPECT_TRUE(driver_.synchronize(stream_).is_ok());
    EXPECT_TRUE(driver_.unregister_host(results_.data()).is_ok());
    EXPECT_TRUE(driver_.destroy_stream(stream_).is_ok());
    EXPECT_TRUE(driver_.unmap(at_, 4_MiB).is_ok());
    EXPECT_TRUE(driver_.destroy_frame(frame_).is_ok());
    EXPECT_TRUE(driver_.release(at_, 4_MiB).is_ok());
  }

  Status ask(std::vector<DeviceRange> ranges, std::size_t result = 0) {
    return driver_.fingerprint(DeviceId(0), ranges, results_.data() + result, stream_);
  }
  void expect_refused(const Status& status, const char* word) {
    EXPECT_EQ(status.native_code(), native::kInvalidValue);
    EXPECT_NE(status.message().find(word), std::string_view::npos) << status.to_string();
  }

  VirtualClock clock_;
  SimDriver driver_;
  Address at_;
  FrameId frame_;
  StreamId stream_;
  std::vector<Fingerprint> results_ = std::vector<Fingerprint>(128);
};

TEST_F(SimFingerprint, TakesTheTimeThatItsBytesTakeToRead) {
  ASSERT_TRUE(ask({{at_, 1_MiB}, {at_ + 2_MiB, 1_MiB}}).is_ok());
  ASSERT_TRUE(driver_.synchronize(stream_).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(1'000'500));
}

TEST_F(SimFingerprint, GuardsWhatItReadsAndWhatItWrites) {
  ASSERT_TRUE(ask({{at_ + 2_MiB, 1_MiB}}).is_ok());
  expect_refused(driver_.unmap(at_, 4_MiB), "fingerprint");
  expect_refused(driver_.unregister_host(results_.data()), "fingerprint");
}

TEST_F(SimFingerprint, RefusesInvalidArguments) {
  expect_refused(ask({}), "0 ranges");
  expect_refused(ask(std::vector<DeviceRange>(kMostFingerprints + 1, {at_, kFingerprintPart})), "65 ranges");
  expect_refused(ask({{at_, 1_KiB}}), "fingerprint of 1024 bytes");
  expect_refused(ask({{at_, Bytes()}}), "fingerprint of 0 bytes");
  expect_refused(ask({{at_ + Bytes(8), kFingerprintPart}}), "fingerprint of");
  expect_refused(ask({{at_ + 4_MiB, kFingerprintPart}}), "is not mapped at");
  expect_refused(ask({{at_, 2_MiB}}, 33), "is not registered");
  expect_refused(driver_.fingerprint(DeviceId(1), std::vector<DeviceRange>{{at_, 2_MiB}}, results_.data(), stream_),
                 "another device");
  EXPECT_EQ(driver_.fingerprint(DeviceId(2), {}, results_.data(), stream_).code(), Code::kInvalidArgument);
}

class SimWithoutFingerprints : public SimFingerprint {
 protected:
  SimWithoutFingerprints() : SimFingerprint({.memory = 8_MiB, .makes_fingerprints = false}) {}
};

TEST_F(SimWithoutFingerprints, ReportsNotSupported) { EXPECT_EQ(ask({{at_, 2_MiB}}).code(), Code::kNotSupported); }

class SimWithoutBytes : public SimFingerprint {
 protected:
  SimWithoutBytes() : SimFingerprint({.memory = 8_MiB, .contents = SimContents::kNone}) {}
};

TEST_F(SimWithoutBytes, ReportsNotSupported) { EXPECT_EQ(ask({{at_, 2_MiB}}).code(), Code::kNotSupported); }

}  // namespace
}  // namespace tessera
