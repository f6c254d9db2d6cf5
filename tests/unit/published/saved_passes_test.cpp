#include "lab/published/saved_passes.hpp"

#include <gtest/gtest.h>

#include <set>

#include "pipeline_iteration.hpp"

namespace tessera {
namespace {

TEST(SavedPasses, EachPassOfAnInterleavedPipelineIsOne) {
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    const test::PipelineIteration pipeline{.shape = {.rank = rank}};
    const Iteration iteration = pipeline.made();
    const auto by_pass = saved_by_pass(PlanGround(iteration, test::machine_of(1_GiB, 25e9)));
    ASSERT_EQ(by_pass.size(), pipeline.shape.passes()) << rank;
    std::set<std::uint32_t> passes;
    for (const std::vector<Gap>& saved : by_pass) {
      EXPECT_EQ(saved.size(), pipeline.operations()) << rank;
      for (const Gap& gap : saved) EXPECT_EQ(pipeline.pass_of(gap.run), pipeline.pass_of(saved[0].run)) << rank;
      EXPECT_TRUE(passes.insert(pipeline.pass_of(saved[0].run)).second) << rank;
    }
  }
}

// The last chunk of the last rank is used by backward at once, so the activation of its last operation is not saved.
TEST(SavedPasses, AnImmediatelyReusedRunIsNotSaved) {
  const test::PipelineIteration pipeline{.shape = {.rank = 3}};
  const Iteration iteration = pipeline.made();
  std::size_t whole = 0, less = 0;
  for (const auto& saved : saved_by_pass(PlanGround(iteration, test::machine_of(1_GiB, 25e9)))) {
    const bool is_last = pipeline.pass_of(saved[0].run) >= pipeline.shape.micro_batches;
    EXPECT_EQ(saved.size() + (is_last ? 1 : 0), pipeline.operations());
    ++(is_last ? less : whole);
  }
  EXPECT_EQ(whole, less);
}

TEST(SavedPasses, AReallocatedRunIsOfAnotherPass) {
  test::IterationBuilder build;
  const std::uint32_t first = build.run(8_MiB, RunClass::kActivation), second = build.run(8_MiB, RunClass::kActivation);
  const std::uint32_t gradient = build.run(2_MiB, RunClass::kGradient);
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    build.step(1000, {test::makes(first)});
    build.step(1000, {test::reads(first), test::makes(second)});
    build.step(1000, {});
    build.step(1000, {test::reads(second), test::makes(gradient)});
    build.step(1000, {test::reads(first), test::writes(gradient)});
  }
  const auto by_pass = saved_by_pass(PlanGround(build.done(), test::machine_of(1_GiB, 25e9)));
  ASSERT_EQ(by_pass.size(), 2U);
  for (const auto& saved : by_pass) EXPECT_EQ(saved.size(), 2U);
}

// After the single turn that the structure detects, a new untagged run is taken for a gradient.
TEST(SavedPasses, WithTaggedGradientsNoOtherRunMarksABackwardStep) {
  test::IterationBuilder build;
  const std::uint32_t large = build.run(64_MiB, RunClass::kActivation), small = build.run(8_MiB, RunClass::kActivation);
  const std::uint32_t untagged = build.run(8_MiB), gradient = build.run(2_MiB, RunClass::kGradient);
  build.step(1000, {test::makes(large)});
  build.step(1000, {});
  build.step(1000, {test::reads(large), test::makes(gradient)});
  build.step(1000, {test::makes(small)});
  build.step(1000, {test::reads(small), test::makes(untagged)});
  build.step(1000, {});
  build.step(1000, {test::reads(small), test::writes(gradient)});
  const Iteration iteration = build.done();
  const PlanGround ground(iteration, test::machine_of(1_GiB, 25e9));
  ASSERT_EQ(ground.structure.classes[untagged], RunClass::kGradient);
  const auto by_pass = saved_by_pass(ground);
  ASSERT_EQ(by_pass.size(), 2U);
  EXPECT_EQ(by_pass[1][0].run, small);
}

// With checkpoints a pass first uses what it has saved to make other activations again, in a step without a gradient.
TEST(SavedPasses, AnActivationThatOthersAreMadeFromAgainIsSaved) {
  test::IterationBuilder build;
  std::vector<std::uint32_t> kept;
  const auto forward = [&] {
    kept.push_back(build.run(8_MiB, RunClass::kActivation));
    const std::uint32_t passing = build.run(8_MiB, RunClass::kActivation);
    build.step(1000, {test::makes(kept.back())});
    build.step(1000, {test::reads(kept.back()), test::makes(passing)});
    build.step(1000, {test::reads(passing)});
  };
  const auto backward = [&](std::size_t pass) {
    const std::uint32_t again = build.run(8_MiB, RunClass::kActivation),
                        gradient = build.run(2_MiB, RunClass::kGradient);
    build.step(1000, {test::reads(kept[pass]), test::makes(again)});
    build.step(1000, {test::reads(again), test::makes(gradient)});
    build.step(1000, {test::reads(kept[pass]), test::writes(gradient)});
  };
  forward();
  forward();
  backward(0);
  backward(1);
  const auto by_pass = saved_by_pass(PlanGround(build.done(), test::machine_of(1_GiB, 25e9)));
  ASSERT_EQ(by_pass.size(), 2U);
  for (std::size_t pass = 0; pass < 2; ++pass) {
    ASSERT_EQ(by_pass[pass].size(), 1U) << "what is made again is not saved, and used at once";
    EXPECT_EQ(by_pass[pass][0].run, kept[pass]);
  }
}

TEST(SavedPasses, OneTurnIsOnePassWithoutTags) {
  const test::TrainingShape shape;
  const Iteration iteration = test::training(shape);
  const auto by_pass = saved_by_pass(PlanGround(iteration, test::machine_of(1_GiB, 25e9)));
  ASSERT_EQ(by_pass.size(), 1U);
  EXPECT_EQ(by_pass[0].size(), shape.layers - 1) << "the last is used again at once";
}

}  // namespace
}  // namespace tessera
