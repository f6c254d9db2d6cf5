#include "planning/gap_time.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

// Ten steps of 100 ns. Run 0 is written in step 1 and read in step 6; run 1 is only read, in steps 0 and 5.
Iteration ten_steps() {
  test::IterationBuilder build;
  build.run(Bytes(100), RunClass::kUnknown, Nanoseconds(7));
  build.run(Bytes(100));
  for (int i = 0; i < 10; ++i) {
    std::vector<RunUse> uses;
    if (i == 1) uses.push_back(test::writes(0));
    if (i == 6) uses.push_back(test::reads(0));
    if (i % 5 == 0) uses.push_back(test::reads(1));
    build.step(100, uses);
  }
  return build.done();
}

constexpr Gap kInner{.run = 0, .after = 1, .until = 6};
constexpr Gap kOuter{.run = 0, .after = 6, .until = 1, .wraps = true};
const Machine kMachine{.device = 1_KiB,
                       .host = 1_KiB,
                       .out_rate = 2e9,
                       .in_rate = 1e9,
                       .file_write_rate = 1e9,
                       .file_read_rate = 0.5e9,
                       .peer_rate = 4e9};

TEST(GapTime, MeasuresGapsInsideAndAroundTheIteration) {
  const Iteration iteration = ten_steps();
  const GapTime time(iteration, kMachine);
  EXPECT_EQ(time.steps_inside(kInner), 4u);
  EXPECT_EQ(time.between(kInner), 400);
  EXPECT_EQ(time.steps_inside(kOuter), 4u);
  EXPECT_EQ(time.between(kOuter), 400);
  EXPECT_EQ(time.step_at(kOuter, 3), 0u);
}

TEST(GapTime, CountsOtherWorkAheadOfTheStepsThatItPrecedes) {
  Iteration iteration = ten_steps();
  iteration.steps[2].before = Nanoseconds(30);  // the first step inside, ...
  iteration.steps[6].before = Nanoseconds(50);  // ... and the one that ends the gap
  const GapTime time(iteration, kMachine);
  EXPECT_EQ(time.between(kInner), 480);
  EXPECT_EQ(time.between(kOuter), 400);
  EXPECT_EQ(time.back_by(kInner, 100), 5u);
  EXPECT_EQ(computing_time(iteration), Nanoseconds(1080));
}

// 14 MiB are pages of 8, 4 and 2 MiB; 16 MiB are one page.
TEST(GapTime, AFetchIncludesTheMappingOfEachPage) {
  test::IterationBuilder build;
  build.run(14_MiB);
  build.run(16_MiB);
  build.step(100, {test::writes(0), test::writes(1)});
  const Iteration iteration = build.done();
  Machine machine = kMachine;
  const double small = GapTime(iteration, machine).copy_in(0), large = GapTime(iteration, machine).copy_in(1);
  const double out = GapTime(iteration, machine).copy_out(0);
  machine.mapping = Nanoseconds(45'000);
  const GapTime time(iteration, machine);
  for (const Location from : {Location::kHost, Location::kPeer}) {
    EXPECT_EQ(time.copy_in(0, from) - GapTime(iteration, kMachine).copy_in(0, from), 3 * 45'000);
  }
  EXPECT_EQ(time.copy_in(0), small + 3 * 45'000);
  EXPECT_EQ(time.copy_in(1), large + 45'000);
  EXPECT_EQ(time.copy_out(0), out);
  EXPECT_EQ(time.copy_in(0, Location::kNowhere), 0) << "what is recomputed is not counted here";
}

TEST(GapTime, CopiesTakeAsLongAsTheirSlowestLink) {
  const Iteration iteration = ten_steps();
  const GapTime time(iteration, kMachine);
  EXPECT_EQ(time.copy_out(0), 50);
  EXPECT_EQ(time.copy_in(0), 100);
  EXPECT_EQ(time.copy_out(0, Location::kFile), 100);
  EXPECT_EQ(time.copy_in(0, Location::kFile), 200);
  EXPECT_EQ(time.copy_in(0, Location::kNowhere), 7);
  EXPECT_EQ(time.copy_out(0, Location::kPeer), 25);
  EXPECT_EQ(time.copy_in(0, Location::kPeer), 25);
  EXPECT_EQ(time.copy_out(1), 0) << "what is never written has its copy";
  EXPECT_EQ(time.free_time(kInner), 250);
}

TEST(GapTime, TheFetchStartsAsLateAsItsLeadAllows) {
  const Iteration iteration = ten_steps();
  const GapTime time(iteration, kMachine);
  EXPECT_EQ(time.back_by(kInner, 0), 6u);
  EXPECT_EQ(time.back_by(kInner, 1), 5u);
  EXPECT_EQ(time.back_by(kInner, 100), 5u);
  EXPECT_EQ(time.back_by(kInner, 101), 4u);
  EXPECT_EQ(time.back_by(kInner, 1e9), 2u);
  EXPECT_EQ(time.back_by(kOuter, 101), 9u);
}

TEST(GapTime, KeepsStepsInsideTheGap) {
  const Iteration iteration = ten_steps();
  const GapTime time(iteration, kMachine);
  EXPECT_EQ(time.inside(kInner, 4), 4u);
  EXPECT_EQ(time.inside(kInner, 8), 2u);
  EXPECT_EQ(time.inside(kOuter, 9), 9u);
  EXPECT_EQ(time.inside({.run = 0, .after = 3, .until = 4}, 9), 4u);
}

TEST(GapTime, CountsTheStepsThatACopyOutTakes) {
  const Iteration iteration = ten_steps();
  EXPECT_EQ(GapTime(iteration, kMachine).steps_leaving(kInner), 1u);
  EXPECT_EQ(GapTime(iteration, test::machine_of(1_KiB, 0.4e9)).steps_leaving(kInner), 3u);
  EXPECT_EQ(GapTime(iteration, kMachine).steps_leaving({.run = 1, .after = 0, .until = 5}), 0u);
}

}  // namespace
}  // namespace tessera
