#include "planning/structure.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

TEST(Structure, FindsTheTurnAndTheClassesOfAnUntaggedTrainingIteration) {
  const test::TrainingShape shape{.layers = 5};
  const Structure structure = find_structure(test::training(shape));
  // The last layer's activation is needed at once, so it does not indicate the turn; the others do.
  EXPECT_EQ(structure.forward_end, 5u);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(structure.classes[i], RunClass::kActivation) << i;
    EXPECT_EQ(structure.classes[shape.weight_of(i)], RunClass::kWeight) << i;
    EXPECT_EQ(structure.classes[shape.optimizer_of(i)], RunClass::kOptimizer) << i;
    EXPECT_EQ(structure.classes[shape.gradient_of(i)], RunClass::kGradient) << i;
  }
}

TEST(Structure, ATagOverridesTheInferredClass) {
  Iteration iteration = test::training();
  iteration.runs[0].kind = RunClass::kKvCache;
  EXPECT_EQ(find_structure(iteration).classes[0], RunClass::kKvCache);
}

TEST(Structure, ALayerBeginsWhereOtherWeightsAreUsed) {
  test::IterationBuilder build;
  const auto x = build.run(1_MiB), a = build.run(1_MiB), b = build.run(1_MiB);
  build.step(1, {test::writes(x)});
  build.step(1, {test::reads(x), test::reads(a)});
  build.step(1, {test::reads(x)});
  build.step(1, {test::reads(x), test::reads(a)});
  build.step(1, {test::reads(x), test::reads(b)});
  Iteration iteration = build.done();
  iteration.runs[x].kind = RunClass::kActivation;
  const Structure structure = find_structure(iteration);
  EXPECT_EQ(structure.layer_of, (std::vector<std::uint32_t>{0, 0, 0, 0, 1}));
  EXPECT_EQ(structure.layer_begin, (std::vector<std::uint32_t>{0, 4}));
}

TEST(Structure, WithoutABackwardPassAllIsForward) {
  test::IterationBuilder build;
  const auto weight = build.run(1_MiB);
  for (int i = 0; i < 3; ++i) build.step(1, {test::reads(weight)});
  EXPECT_EQ(find_structure(build.done()).forward_end, 3u);
  EXPECT_EQ(find_structure(build.done()).classes[weight], RunClass::kWeight);
}

TEST(Structure, TheLargestStepIsTheOneWithMostBytes) {
  EXPECT_EQ(largest_step(test::training({.activation = 8_MiB, .weight = 4_MiB, .optimizer = 8_MiB})), 20_MiB);
  EXPECT_EQ(largest_step(Iteration()), Bytes());
}

}  // namespace
}  // namespace tessera
