#include "lab/published/atc24_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/page_class.hpp"
#include "lab/published/saved_passes.hpp"
#include "pipeline_iteration.hpp"
#include "planning/forecast.hpp"
#include "policy/plan_ground.hpp"
#include "policy/policy.hpp"

namespace tessera {
namespace {

constexpr std::uint32_t kInFlight = 100;

double peak_at(double alpha) {
  const Iteration iteration = test::stack(kInFlight, 2_MiB, 1'000'000);
  const Machine machine = test::machine_of(1_GiB, 25e9);
  const Bytes peak = planned_peak(iteration, machine, Atc24Policy(alpha).plan(iteration, machine));
  return static_cast<double>(peak.value());
}

TEST(Atc24Policy, ThePeakIsLinearInAlphaWithTheBytesInFlightAsItsSlope) {
  const double whole = peak_at(0);
  const double in_flight = kInFlight * double{2 << 20};
  EXPECT_EQ(whole, in_flight);
  for (const double alpha : {0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9}) {
    EXPECT_NEAR(peak_at(alpha), whole - alpha * in_flight, 3 * double{2 << 20}) << alpha;
  }
  EXPECT_LE(peak_at(1), 4 * double{2 << 20});
}

TEST(Atc24Policy, OffloadsTheShareOfEachPassAndSplitsTheBoundaryRun) {
  const test::PipelineIteration pipeline;
  const Iteration iteration = pipeline.made();
  const Machine machine = test::machine_of(1_GiB, 25e9);
  for (const double alpha : {0.1, 0.3, 0.5, 0.77, 1.0}) {
    std::vector<Bytes> leaving(pipeline.shape.passes());
    std::vector<int> split(pipeline.shape.passes());
    for (const OffloadInterval& interval : test::moves_of(Atc24Policy(alpha).plan(iteration, machine))) {
      const Bytes whole = iteration.runs[interval.gap.run].bytes;
      leaving[pipeline.pass_of(interval.gap.run)] += std::min(interval.part, whole);
      split[pipeline.pass_of(interval.gap.run)] += interval.part < whole ? 1 : 0;
    }
    constexpr Bytes kPage = 16_MiB;  // the largest of the blocks, which leave in whole pages
    const Bytes share(static_cast<std::uint64_t>(alpha * static_cast<double>(pipeline.saved_by_a_pass().value())));
    Bytes all;
    for (std::size_t pass = 0; pass < leaving.size(); ++pass) {
      EXPECT_GE(leaving[pass] + kPage, share) << alpha;
      EXPECT_LE(leaving[pass], share + kPage) << alpha;
      EXPECT_LE(split[pass], 1) << alpha;
      all += leaving[pass];
    }
    EXPECT_GE(all, share * leaving.size()) << alpha;
    EXPECT_LE(all, share * leaving.size() + kPage) << "an excess is deducted from the next pass: " << alpha;
  }
}

// The least-squares line through peaks at the ratios of the paper's table, and its quality of fit.
struct Line {
  double slope = 0, r_squared = 0;
};

Line line_of(const std::function<double(double)>& peak) {
  constexpr double kAlphas[] = {0.3, 0.5, 1.0};
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (const double alpha : kAlphas) {
    const double bytes = peak(alpha);
    n += 1, x += alpha, y += bytes, xx += alpha * alpha, xy += alpha * bytes, yy += bytes * bytes;
  }
  const double covariance = n * xy - x * y, variance = n * xx - x * x;
  return {covariance / variance, covariance * covariance / (variance * (n * yy - y * y))};
}

// Passes of two operations each: the second saved run is used first by the backward pass.
struct ShortPasses {
  test::IterationBuilder build;
  std::vector<std::uint32_t> first, second;

  void forward() {
    first.push_back(build.run(8_MiB, RunClass::kActivation));
    second.push_back(build.run(8_MiB, RunClass::kActivation));
    build.step(1000, {test::makes(first.back())});
    build.step(1000, {test::reads(first.back()), test::makes(second.back())});
  }
  void backward(std::size_t pass) {
    const std::uint32_t gradient = build.run(2_MiB, RunClass::kGradient);
    build.step(1000, {test::reads(second[pass]), test::makes(gradient)});
    build.step(1000, {test::reads(first[pass]), test::writes(gradient)});
  }
  // When each run that leaves comes back.
  std::map<std::uint32_t, std::uint32_t> fetches() const {
    std::map<std::uint32_t, std::uint32_t> begins;
    const OffloadPlan plan = Atc24Policy(1).plan(build.done(), test::machine_of(1_GiB, 25e9));
    for (const OffloadInterval& interval : test::moves_of(plan)) begins[interval.gap.run] = interval.back_at;
    return begins;
  }
};

TEST(Atc24Policy, FetchesAPassWhileTheBackwardPassBeforeItRuns) {
  ShortPasses passes;
  passes.forward();                                 // steps 0, 1
  passes.forward();                                 // steps 2, 3
  passes.forward();                                 // steps 4, 5
  passes.backward(0);                               // steps 6, 7
  passes.forward();                                 // steps 8, 9
  passes.backward(1);                               // steps 10, 11
  passes.backward(2);                               // steps 12, 13
  passes.backward(3);                               // steps 14, 15
  const std::uint32_t expected[] = {5, 6, 10, 12};  // the first: when the last forward pass ahead of it saves
  const auto begins = passes.fetches();
  ASSERT_EQ(begins.size(), 8U);
  for (std::size_t pass = 0; pass < 4; ++pass) {
    EXPECT_EQ(begins.at(passes.first[pass]), expected[pass]) << pass;
    EXPECT_EQ(begins.at(passes.second[pass]), expected[pass]) << pass;
  }
}

// No pass runs between, so there is none to fetch beside.
TEST(Atc24Policy, APassThatGoesBackAtOnceIsFetchedRunByRun) {
  ShortPasses passes;
  passes.forward();    // steps 0, 1
  passes.backward(0);  // steps 2, 3
  passes.forward();    // steps 4, 5
  passes.backward(1);  // steps 6, 7
  const auto begins = passes.fetches();
  ASSERT_EQ(begins.size(), 2U) << "the second run of a pass is used again at once";
  EXPECT_EQ(begins.at(passes.first[0]), 2U);
  EXPECT_EQ(begins.at(passes.first[1]), 6U);
}

// A pass saves 8 activations, each made in 1 ms and used in 2 ms. Copying one takes 2.5 ms: less than its making and
// its use together, more than its use. Run by run only uses hide copies; the two buffers are filled beside forward
// passes, too. They wait for 20 - 16 ms before each of the last 10 backward passes, which run without a forward pass
// between, and before the first, which is fetched as a whole from the first save of a single forward pass on: 20 - 7
// ms.
TEST(Atc24Policy, CopiesAreHiddenBesideTheForwardPassesToo) {
  const test::PipelineIteration pipeline{.shape = {.micro_batches = 16}, .saved = std::vector<Bytes>(8, 4_MiB)};
  const Iteration iteration = pipeline.made();
  const Machine machine = test::machine_of(64_GiB, 4194304 / 2.5e-3);
  ASSERT_EQ(pipeline.shape.ahead(), 10U);
  const Nanoseconds stall = forecast(iteration, machine, Atc24Policy(1).plan(iteration, machine)).stall;
  EXPECT_NEAR(static_cast<double>(stall.value()), 10 * 4e6 + 13e6, 1e3);

  PlanGround ground(iteration, machine);
  std::vector<OffloadInterval> run_by_run;
  for (const std::vector<Gap>& saved : saved_by_pass(ground)) {
    for (const Gap& gap : saved) run_by_run.push_back({.gap = gap});
  }
  ground.leave_in_chain(run_by_run);
  EXPECT_GT(forecast(iteration, machine, ground.plan).stall, 2 * stall);
}

TEST(Atc24Policy, TwoPassesAtMostAreBackAtATime) {
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    const test::PipelineIteration pipeline{.shape = {.rank = rank, .micro_batches = 16}};
    const Iteration iteration = pipeline.made();
    const OffloadPlan plan = Atc24Policy(1).plan(iteration, test::machine_of(1_GiB, 25e9));
    std::vector<std::set<std::uint32_t>> back(iteration.steps.size());  // passes, by step
    for (const OffloadInterval& interval : test::moves_of(plan)) {
      for (std::uint32_t step = interval.back_at; step <= interval.gap.until; ++step) {
        back[step].insert(pipeline.pass_of(interval.gap.run));
      }
    }
    std::size_t most = 0;
    for (const std::set<std::uint32_t>& passes : back) most = std::max(most, passes.size());
    EXPECT_EQ(most, 2U) << rank;
  }
}

// The published check: an interleaved pipeline on a device with room for everything, and a link of negligible cost.
// Of the passes in flight two are back, as a whole.
TEST(Atc24Policy, ThePeakOfAnInterleavedPipelineIsLinearInAlphaWithTheBytesInFlightButTwoPassesAsItsSlope) {
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    const test::PipelineIteration pipeline{.shape = {.rank = rank, .micro_batches = 16}};
    const Iteration iteration = pipeline.made();
    const Machine machine = test::machine_of(1_GiB, 1e15);
    const auto peak = [&](double alpha) {
      return static_cast<double>(planned_peak(iteration, machine, Atc24Policy(alpha).plan(iteration, machine)).value());
    };
    const auto away = static_cast<double>(((pipeline.shape.in_flight() - 2) * pipeline.saved_by_a_pass()).value());
    const Line line = line_of(peak);
    EXPECT_NEAR(line.slope, -away, 0.04 * away) << rank;
    EXPECT_GT(line.r_squared, 0.9985) << rank;
  }
}

TEST(Atc24Policy, PicksTheSmallestTenthThatFits) {
  const Iteration iteration = test::stack(kInFlight, 2_MiB, 1'000'000);
  const auto moves = [&](Bytes device) {
    return test::moves_of(Atc24Policy().plan(iteration, test::machine_of(device, 25e9))).size();
  };
  EXPECT_EQ(moves(200_MiB), 0u);
  EXPECT_NEAR(static_cast<double>(moves(110_MiB)), 50, 11);
}

TEST(Atc24Policy, AlphaIsGivenWithTheName) {
  const Iteration iteration = test::stack(kInFlight, 2_MiB, 1'000'000);
  const Machine machine = test::machine_of(1_GiB, 25e9);
  const auto made = make_policy("atc24:0.5");
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  EXPECT_NEAR(static_cast<double>(test::moves_of(made.value()->plan(iteration, machine)).size()), 50, 1);
}

}  // namespace
}  // namespace tessera
