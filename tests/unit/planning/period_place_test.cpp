#include "planning/period_place.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "planning/period_finder.hpp"

namespace tessera {
namespace {

// A period of 100 signatures, and the launches before each of them.
class PeriodPlaceTest : public ::testing::Test {
 protected:
  static std::vector<std::uint64_t> period() {
    std::vector<std::uint64_t> signatures(100);
    std::iota(signatures.begin(), signatures.end(), 1);
    return signatures;
  }
  std::optional<std::size_t> note(std::uint64_t signature) {
    finder_.note(signature, 0);
    place_.note(signature, finder_.context());
    return place_.position();
  }

  PeriodFinder finder_;
  PeriodPlace place_{period(), 99};
};

TEST_F(PeriodPlaceTest, ReportsThePositionOfEachLaunch) {
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(note(i + 1), i);
  }
}

TEST_F(PeriodPlaceTest, ContinuesFromAGivenPosition) {
  place_ = PeriodPlace(period(), 16);
  EXPECT_EQ(place_.position(), 16u);
  EXPECT_EQ(note(18), 17u);
}

TEST_F(PeriodPlaceTest, LosesThePositionWhenTheProgramDeviates) {
  for (std::uint64_t i = 0; i < 40; ++i) note(i + 1);
  EXPECT_FALSE(note(5000));
}

TEST_F(PeriodPlaceTest, IsFoundAgainWithinAContext) {
  for (std::uint64_t i = 0; i < 40; ++i) note(i + 1);
  for (std::uint64_t i = 0; i < 30; ++i) note(5000 + i);
  for (std::uint64_t i = 0; i + 1 < kContext; ++i) EXPECT_FALSE(note(i + 61));
  EXPECT_EQ(note(kContext + 60), kContext + 59);
}

TEST_F(PeriodPlaceTest, PlacesWithTheSameContextAreTakenFromTheLatestBack) {
  // Ten rounds of three launches behind thirty others: from the second context of a round on they are alike.
  std::vector<std::uint64_t> signatures;
  for (std::uint64_t i = 0; i < 30; ++i) signatures.push_back(100 + i);
  for (std::uint64_t i = 0; i < 30; ++i) signatures.push_back(1 + i % 3);
  place_ = PeriodPlace(signatures, 59);
  place_.lose();
  for (int round = 0; round < 8; ++round) {
    for (std::uint64_t i = 1; i <= 3; ++i) note(i);
  }
  ASSERT_EQ(place_.position(), 59u) << "the last";
  std::vector<std::size_t> looked;
  place_.move_to_like([&](std::size_t place) {
    looked.push_back(place);
    return place == 53;
  });
  EXPECT_EQ(looked, (std::vector<std::size_t>{59, 56, 53}));
  EXPECT_EQ(place_.position(), 53u);
  place_.move_to_like([](std::size_t) { return false; });
  EXPECT_EQ(place_.position(), 53u) << "it stays where nothing is right";
  EXPECT_EQ(note(1), 54u);
}

TEST_F(PeriodPlaceTest, IsFoundAcrossTheEndOfThePeriod) {
  place_.lose();
  for (std::uint64_t i = 100 - kContext / 2; i < 100; ++i) EXPECT_FALSE(note(i + 1));
  for (std::uint64_t i = 0; i + 1 < kContext / 2; ++i) EXPECT_FALSE(note(i + 1));
  EXPECT_EQ(note(kContext / 2), kContext / 2 - 1);
}

}  // namespace
}  // namespace tessera
