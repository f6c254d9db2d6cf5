#include "planning/near_place.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tessera {
namespace {

// Steps and launches are letters: a lower-case one is like its upper-case step.
class NearPlaceTest : public ::testing::Test {
 protected:
  static constexpr NearPlace::Cost kOther = 4;

  void note(char launch, NearPlace::Cost other = kOther) {
    near_.note(
        [&](std::size_t step) {
          ++asked_;
          const char letter = steps_[step];
          return letter == launch ? 0 : std::toupper(launch) == letter ? 1 : NearPlace::kNever;
        },
        other);
  }
  void note_all(std::string_view launches) {
    for (const char launch : launches) note(launch);
  }
  char at() const { return steps_[near_.place()]; }

  const std::string steps_ = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  NearPlace near_{steps_.size(), steps_.size() - 1};
  std::size_t asked_ = 0;
};

TEST_F(NearPlaceTest, FollowsTheStepsRoundAndRound) {
  for (int round = 0; round < 3; ++round) {
    for (const char step : steps_) {
      note(step);
      ASSERT_EQ(at(), step);
      ASSERT_TRUE(near_.is_step());
    }
  }
  EXPECT_EQ(asked_, 3 * steps_.size());  // and nothing else is asked
}

TEST_F(NearPlaceTest, LaunchesBetweenTheStepsAreNone) {
  note_all("ABC");
  for (int i = 0; i < 3; ++i) {
    note('?');
    EXPECT_EQ(at(), 'C');
    EXPECT_FALSE(near_.is_step());
  }
  note('D');
  EXPECT_EQ(at(), 'D');
  EXPECT_TRUE(near_.is_step());
}

TEST_F(NearPlaceTest, StepsMayBeMissing) {
  note_all("AB");
  note('E', 2 * kOther);
  EXPECT_EQ(at(), 'E');
  note_all("FGMNO");  // so many missing are more likely than launches that are none of the steps only at the third
  EXPECT_EQ(at(), 'O');
}

TEST_F(NearPlaceTest, ALaunchThatIsLikeAStepMayBeTheStep) {
  note_all("AbCd");
  EXPECT_EQ(at(), 'D');
  EXPECT_TRUE(near_.is_step());
}

// The C is taken for the step; then the rest shows that it came ahead of the B.
TEST_F(NearPlaceTest, GoesBackWhenAnotherWayWasRight) {
  note_all("Ac");
  note('B', 2 * kOther);
  EXPECT_EQ(at(), 'B');
  EXPECT_TRUE(near_.is_step());
  note_all("CD");
  EXPECT_EQ(at(), 'D');
}

TEST_F(NearPlaceTest, ABandGoesRoundTheEnd) {
  note_all(steps_.substr(0, steps_.size() - 1));
  note_all("?");
  EXPECT_EQ(at(), '8');
  note_all("9AB?CD");
  EXPECT_EQ(at(), 'D');
}

TEST_F(NearPlaceTest, OtherWaysAreForgottenWhenLaunchesAreTheStepsAgain) {
  note_all("AB?");
  note_all("CDEFGHIJKLMNOPQRSTUVWXYZ");
  asked_ = 0;
  note_all("0123");
  EXPECT_EQ(asked_, 4u);
}

TEST_F(NearPlaceTest, SomeOtherLaunchesAreNoReasonToGiveUp) {
  for (int round = 0; round < 10; ++round) {
    for (const char step : steps_) {
      note(step);
      note('?');
      ASSERT_FALSE(near_.is_lost());
    }
  }
  EXPECT_EQ(at(), steps_.back());
}

TEST_F(NearPlaceTest, IsLostAmongOtherLaunches) {
  note_all("ABC");
  std::size_t launches = 0;
  for (; !near_.is_lost() && launches < 1000; ++launches) note('?');
  EXPECT_GT(launches, 32u);
  EXPECT_LT(launches, 64u);
}

}  // namespace
}  // namespace tessera
