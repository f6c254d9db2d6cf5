#include "learn/sequence.hpp"

#include <gtest/gtest.h>

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

SequenceLearner::Noted note_all(SequenceLearner& learner, const std::vector<std::uint64_t>& all) {
  SequenceLearner::Noted last;
  for (const std::uint64_t signature : all) last = learner.note(signature);
  return last;
}

TEST(SequenceLearner, KnowsNothingOfASequenceThatDoesNotRepeat) {
  SequenceLearner learner;
  EXPECT_FALSE(note_all(learner, stretch(1, 1000)).position);
  EXPECT_EQ(learner.period(), 0u);
}

TEST(SequenceLearner, LearnsAtTheEndOfTheSecondIteration) {
  SequenceLearner learner;
  const auto iteration = stretch(1, 100);
  note_all(learner, iteration);
  for (std::size_t i = 0; i + 1 < iteration.size(); ++i) {
    EXPECT_FALSE(learner.note(iteration[i]).learned);
  }
  const SequenceLearner::Noted last = learner.note(iteration.back());
  EXPECT_TRUE(last.learned);
  EXPECT_EQ(last.position, 99u);
  EXPECT_EQ(learner.period(), 100u);
}

TEST(SequenceLearner, TellsThePositionOfEachLaunchFromThenOn) {
  SequenceLearner learner;
  const auto iteration = stretch(1, 100);
  note_all(learner, join({iteration, iteration}));
  for (std::size_t i = 0; i < iteration.size(); ++i) {
    const SequenceLearner::Noted noted = learner.note(iteration[i]);
    EXPECT_EQ(noted.position, i);
    EXPECT_FALSE(noted.learned);
  }
}

TEST(SequenceLearner, LosesThePositionAtOnceWhenTheSequenceBreaks) {
  SequenceLearner learner;
  const auto iteration = stretch(1, 100);
  note_all(learner, join({iteration, iteration, stretch(1, 40)}));
  EXPECT_FALSE(learner.note(5000).position);
}

TEST(SequenceLearner, IsBackWithinAContextAfterTheBreak) {
  SequenceLearner learner;
  const auto iteration = stretch(1, 100);
  note_all(learner, join({iteration, iteration, stretch(5000, 70)}));
  for (std::size_t i = 0; i + 1 < SequenceLearner::kContext; ++i) {
    EXPECT_FALSE(learner.note(iteration[i]).position);
  }
  EXPECT_EQ(learner.note(iteration[SequenceLearner::kContext - 1]).position,
            SequenceLearner::kContext - 1);
}

TEST(SequenceLearner, GivesAnInnerLoopUpForTheIterationAroundIt) {
  SequenceLearner learner;
  const auto micro = stretch(1, 50);
  const auto iteration = join({micro, micro, micro, micro, stretch(900, 30)});
  note_all(learner, join({iteration, iteration, iteration, iteration}));
  EXPECT_EQ(learner.period(), iteration.size());
  // And follows the whole of it, where the inner loop alone would break.
  for (const std::uint64_t signature : iteration) EXPECT_TRUE(learner.note(signature).position);
}

TEST(SequenceLearner, KnowsAnIterationWithLoopsInsideBeforeItsThirdTime) {
  SequenceLearner learner;
  const auto forward = stretch(1, 40), backward = stretch(100, 60);
  const auto iteration = join({forward, forward, forward, backward, forward, backward, forward,
                               backward, backward, stretch(900, 50)});
  note_all(learner, join({iteration, iteration}));
  EXPECT_EQ(learner.period(), iteration.size());
}

TEST(SequenceLearner, IsNotMisledByManyLaunchesOfOneKind) {
  SequenceLearner learner;
  const auto iteration = join({stretch(1, 60), std::vector<std::uint64_t>(40, 7777)});
  note_all(learner, join({iteration, iteration, iteration, iteration}));
  EXPECT_EQ(learner.period(), iteration.size());
}

TEST(SequenceLearner, LearnsWhatTheProgramTurnsTo) {
  SequenceLearner learner;
  const auto training = stretch(1, 100);
  const auto decoding = stretch(2000, 30);
  note_all(learner, join({training, training, training, decoding, decoding}));
  EXPECT_EQ(learner.period(), decoding.size());
}

TEST(SequenceLearner, GoesOnWhereItIsToldToBe) {
  SequenceLearner learner;
  const auto iteration = stretch(1, 40);
  learner.teach(iteration, 16);
  EXPECT_EQ(learner.note(iteration[17]).position, 17u);
  learner.teach(iteration, 39);
  EXPECT_EQ(learner.note(iteration[0]).position, 0u);
}

TEST(SequenceLearner, HasABoundOnThePeriodThatItFinds) {
  SequenceLearner learner;
  const auto iteration = stretch(1, SequenceLearner::kHistory);
  note_all(learner, join({iteration, iteration}));
  EXPECT_EQ(learner.period(), 0u);
}

}  // namespace
}  // namespace tessera
