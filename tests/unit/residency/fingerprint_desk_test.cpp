#include "residency/pages/fingerprint_desk.hpp"

#include <vector>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

constexpr std::size_t kBatches = 16;

class FingerprintDeskTest : public testing::Test {
 protected:
  explicit FingerprintDeskTest(SimOptions sim = {.memory = 64_MiB}) : machine_({.sim = std::move(sim)}) {
    stream_ = machine_.stream();
    run_ = machine_.add({0, 2});
    EXPECT_OK(machine_.write(run_, 1));
    EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
  }

  DeviceRange page(std::uint32_t number) const { return {run_->page_address(number), kBasePage}; }
  std::optional<FingerprintDesk::Place> queue(std::vector<DeviceRange> ranges) { return desk_.queue(ranges, stream_); }
  Fingerprint one(std::uint32_t number) {
    const auto place = queue({page(number)});
    EXPECT_TRUE(place.has_value());
    EXPECT_OK(machine_.sim().synchronize(stream_));
    return desk_.read(*place, kBasePage);
  }
  std::uint64_t calls(DriverCall call) { return machine_.fault().calls(call); }

  ResidencyMachine machine_;
  StreamId stream_;
  tessera::Run* run_ = nullptr;
  FingerprintDesk desk_{machine_.fault(), DeviceId(0), true};
};

TEST_F(FingerprintDeskTest, RangesOfOneCallGetConsecutiveSlots) {
  const Fingerprint first = one(0), second = one(1);
  EXPECT_NE(first, second);
  const auto place = queue({page(1), page(0)});
  ASSERT_TRUE(place.has_value());
  EXPECT_OK(machine_.sim().synchronize(stream_));
  EXPECT_EQ(desk_.read(*place, kBasePage), second);
  EXPECT_EQ(desk_.read(FingerprintDesk::after(*place, kBasePage), kBasePage), first);
}

TEST_F(FingerprintDeskTest, MemoryIsBoundedAndABatchIsFreedWithItsLastRange) {
  std::vector<FingerprintDesk::Place> places;
  for (std::size_t i = 0; i < kBatches; ++i) {
    const auto place = queue({page(0), page(1)});
    ASSERT_TRUE(place.has_value()) << i;
    places.push_back(*place);
  }
  EXPECT_FALSE(queue({page(0)}).has_value());
  EXPECT_OK(machine_.sim().synchronize(stream_));
  const Fingerprint there = desk_.read(places[3], kBasePage);
  EXPECT_FALSE(queue({page(0)}).has_value()) << "one range of it is out yet";
  desk_.drop(FingerprintDesk::after(places[3], kBasePage));
  EXPECT_EQ(one(0), there);
  for (std::size_t i = 0; i < kBatches; ++i) {
    if (i != 3) {
      EXPECT_EQ(desk_.read(places[i], kBasePage), there);
    }
  }
}

TEST_F(FingerprintDeskTest, AFailedCallDoesNotAffectTheNext) {
  machine_.fault().fail({DriverCall::kFingerprint, 1, Status(Code::kDriver, "injected", 999)});
  EXPECT_FALSE(queue({page(0)}).has_value());
  EXPECT_TRUE(desk_.pays_to_ask(1e9));
  one(0);
}

TEST_F(FingerprintDeskTest, AnUnsupportedDeviceIsNotCalledAgain) {
  machine_.fault().fail({DriverCall::kFingerprint, 1, Status(Code::kNotSupported, "cannot")});
  EXPECT_FALSE(queue({page(0)}).has_value());
  EXPECT_FALSE(queue({page(0)}).has_value());
  EXPECT_EQ(calls(DriverCall::kFingerprint), 1U);
  EXPECT_FALSE(desk_.pays_to_ask(1e9) || desk_.pays_to_take(1e9));
}

TEST_F(FingerprintDeskTest, FailedRegistrationDisablesFingerprints) {
  machine_.fault().fail({DriverCall::kRegisterHost, 1, Status(Code::kDriver, "injected", 999)});
  EXPECT_FALSE(queue({page(0)}).has_value());
  EXPECT_FALSE(desk_.pays_to_take(1e9));
  EXPECT_EQ(calls(DriverCall::kFingerprint), 0U);
}

TEST_F(FingerprintDeskTest, MakesNoDriverCallWhenSwitchedOff) {
  const std::uint64_t before = calls(DriverCall::kRegisterHost);
  FingerprintDesk desk(machine_.fault(), DeviceId(0), false);
  const DeviceRange range = page(0);
  EXPECT_FALSE(desk.queue({&range, 1}, stream_).has_value());
  EXPECT_FALSE(desk.pays_to_ask(1e9) || desk.pays_to_take(1e9));
  EXPECT_EQ(calls(DriverCall::kFingerprint), 0U);
  EXPECT_EQ(calls(DriverCall::kRegisterHost), before);
}

class SlowFingerprintDeskTest : public FingerprintDeskTest {
 protected:
  SlowFingerprintDeskTest() : FingerprintDeskTest({.memory = 64_MiB, .fingerprints = {100'000'000, {}}}) {}
};

// Two pages take 42 ms.
TEST_F(SlowFingerprintDeskTest, MeasuresTheRate) {
  EXPECT_TRUE(desk_.pays_to_ask(1e18)) << "not measured yet";
  one(0);
  one(1);
  EXPECT_FALSE(desk_.pays_to_ask(110e6));
  EXPECT_TRUE(desk_.pays_to_ask(20e6));
}

}  // namespace
}  // namespace tessera
