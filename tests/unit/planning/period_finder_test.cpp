#include "planning/period_finder.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace tessera {
namespace {

// `count` signatures from `first` upwards, all different.
std::vector<std::uint64_t> stretch(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> signatures;
  for (std::size_t i = 0; i < count; ++i) signatures.push_back(first + i);
  return signatures;
}

std::vector<std::uint64_t> join(std::initializer_list<std::vector<std::uint64_t>> parts) {
  std::vector<std::uint64_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The period at the end; `known`: the length of a period being followed.
std::size_t period_of(const std::vector<std::uint64_t>& all, std::size_t known = 0) {
  PeriodFinder finder;
  for (const std::uint64_t signature : all) finder.note(signature, known);
  return finder.period();
}

TEST(PeriodFinder, FindsNoneInASequenceThatDoesNotRepeat) { EXPECT_EQ(period_of(stretch(1, 1000)), 0u); }

// The number of launches that repeat before it is found.
std::size_t found_after(const std::vector<std::uint64_t>& iteration, std::size_t known) {
  PeriodFinder finder;
  for (const std::uint64_t signature : iteration) finder.note(signature, known);
  std::size_t repeated = 0;
  while (finder.period() == 0 && repeated < iteration.size()) finder.note(iteration[repeated++], known);
  EXPECT_EQ(finder.period(), iteration.size());
  EXPECT_EQ(finder.agreed(), repeated);
  return repeated;
}

TEST(PeriodFinder, FindsTheFirstPeriodEarlyInItsSecondPass) {
  EXPECT_EQ(found_after(stretch(1, 800), 0), 800 / PeriodFinder::kSoon);
  EXPECT_EQ(found_after(stretch(1, 100), 0), PeriodFinder::kLong / 2);
  EXPECT_EQ(found_after(stretch(1, PeriodFinder::kLong), 0), PeriodFinder::kLong / 2);
}

TEST(PeriodFinder, FindsAMuchLongerPeriodHalfwayThroughItsSecondPass) {
  EXPECT_EQ(found_after(stretch(1, 800), 800 / PeriodFinder::kFar), 400u) << "a loop of when the program began, say";
}

TEST(PeriodFinder, FindsShortAndSimilarPeriodsAfterTheirSecondPass) {
  EXPECT_EQ(found_after(stretch(1, PeriodFinder::kLong - 1), 0), PeriodFinder::kLong - 1);
  EXPECT_EQ(found_after(stretch(1, 100), 99), 100u);
  EXPECT_EQ(found_after(stretch(1, 100), 100 / PeriodFinder::kFar + 1), 100u);
}

TEST(PeriodFinder, UsesRewrittenLaunches) {
  const auto before = stretch(1, 100);
  auto after = before;
  for (std::size_t i = 20; i < after.size(); ++i) after[i] += 1000;
  PeriodFinder finder;
  for (const std::uint64_t signature : join({before, stretch(1, 10)})) finder.note(signature, 0);
  EXPECT_TRUE(finder.repeats());
  finder.rewrite(join({stretch(1021, 80), stretch(1, 10)}));
  EXPECT_FALSE(finder.repeats());
  EXPECT_EQ(finder.last(110), join({after, stretch(1, 10)}));
  std::size_t repeated = 10;
  while (finder.period() == 0 && repeated < after.size()) finder.note(after[repeated++], 0);
  EXPECT_EQ(repeated, PeriodFinder::kLong / 2);
  EXPECT_EQ(finder.period(), after.size());
  EXPECT_EQ(finder.agreed(), repeated);
}

TEST(PeriodFinder, RewritesPastItsHistory) {
  constexpr std::size_t kRemembered = 128;
  PeriodFinder finder(kRemembered);
  for (const std::uint64_t signature : stretch(1, 120)) finder.note(signature, 0);
  finder.rewrite(stretch(1001, 64));
  for (const std::uint64_t signature : stretch(1001, 20)) finder.note(signature, 0);
  EXPECT_EQ(finder.distance(), 64u);
  EXPECT_EQ(finder.size(), kRemembered);
  finder.rewrite(stretch(2001, 100));
  for (const std::uint64_t signature : stretch(2001, 20)) finder.note(signature, 0);
  EXPECT_EQ(finder.distance(), 100u);
}

TEST(PeriodFinder, HasTheLastLaunches) {
  PeriodFinder finder;
  for (const std::uint64_t signature : stretch(1, 300)) finder.note(signature, 0);
  EXPECT_EQ(finder.last(100), stretch(201, 100));
}

TEST(PeriodFinder, ReportsRepetitionAfterOneContext) {
  PeriodFinder finder;
  const auto iteration = stretch(1, 100);
  for (const std::uint64_t signature : join({iteration, stretch(1, kContext - 1)})) finder.note(signature, 0);
  EXPECT_FALSE(finder.repeats());
  finder.note(kContext, 0);
  EXPECT_TRUE(finder.repeats());
  finder.note(5000, 0);
  EXPECT_FALSE(finder.repeats());
}

TEST(PeriodFinder, PrefersTheOuterIterationToAnInnerLoop) {
  const auto micro = stretch(1, 50);
  const auto iteration = join({micro, micro, micro, micro, stretch(900, 30)});
  EXPECT_EQ(period_of(join({micro, micro})), micro.size());
  EXPECT_EQ(period_of(join({iteration, iteration, iteration, iteration})), iteration.size());
}

// The first rounds of a pipeline stage are like its last round: the launches before them tell them apart.
TEST(PeriodFinder, FollowsTheLongestMatchingHistory) {
  const auto micro = stretch(1, 40), turn = stretch(100, 60);
  const auto pass = join({micro, micro, micro, turn, turn, turn, micro, stretch(900, 50)});
  PeriodFinder finder;
  for (const std::uint64_t signature : join({stretch(5000, 100), pass, micro, micro, micro, stretch(100, kContext)})) {
    finder.note(signature, 0);
  }
  EXPECT_EQ(finder.distance(), pass.size());
  EXPECT_EQ(finder.agreed(), 3 * micro.size() + kContext);
}

TEST(PeriodFinder, FindsANestedIterationBeforeItsThirdPass) {
  const auto forward = stretch(1, 40), backward = stretch(100, 60);
  const auto iteration =
      join({forward, forward, forward, backward, forward, backward, forward, backward, backward, stretch(900, 50)});
  EXPECT_EQ(period_of(join({iteration, iteration})), iteration.size());
}

TEST(PeriodFinder, IsNotMisledByManyLaunchesOfOneKind) {
  const auto iteration = join({stretch(1, 60), std::vector<std::uint64_t>(40, 7777)});
  EXPECT_EQ(period_of(join({iteration, iteration, iteration, iteration})), iteration.size());
}

TEST(PeriodFinder, FindsTheNextPeriodAfterAChange) {
  const auto training = stretch(1, 100), decoding = stretch(2000, 30);
  EXPECT_EQ(period_of(join({training, training, training, decoding, decoding})), decoding.size());
}

TEST(PeriodFinder, UsesEarlierLaunchesOnlyForLongerPeriods) {
  const auto micro = stretch(1, 50);
  const auto iteration = join({micro, micro, micro, stretch(900, 30)});
  EXPECT_EQ(period_of(join({iteration, iteration}), micro.size()), iteration.size());
  EXPECT_EQ(period_of(join({iteration, iteration}), iteration.size()), 0u);
}

TEST(PeriodFinder, BoundsThePeriod) {
  const auto iteration = stretch(1, PeriodFinder::kHistory);
  EXPECT_EQ(period_of(join({iteration, iteration})), 0u);
}

TEST(PeriodFinder, RestartsAfterLostLaunches) {
  PeriodFinder finder;
  const auto iteration = stretch(1, 100);
  for (const std::uint64_t signature : join({iteration, stretch(1, 50)})) finder.note(signature, 0);
  finder.interrupt();
  EXPECT_FALSE(finder.repeats());
  EXPECT_FALSE(finder.context());
  for (const std::uint64_t signature : stretch(51, 50)) finder.note(signature, 0);
  EXPECT_EQ(finder.period(), 0u);
}

}  // namespace
}  // namespace tessera
