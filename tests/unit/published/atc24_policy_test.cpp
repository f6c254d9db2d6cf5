#include "lab/published/atc24_policy.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/page_class.hpp"
#include "pipeline_iteration.hpp"
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

// The published check: an interleaved pipeline on a device with room for everything, and a link of negligible cost.
TEST(Atc24Policy, ThePeakOfAnInterleavedPipelineIsLinearInAlphaWithTheBytesInFlightAsItsSlope) {
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    const test::PipelineIteration pipeline{.shape = {.rank = rank, .micro_batches = 16}};
    const Iteration iteration = pipeline.made();
    const Machine machine = test::machine_of(1_GiB, 1e15);
    const auto peak = [&](double alpha) {
      return static_cast<double>(planned_peak(iteration, machine, Atc24Policy(alpha).plan(iteration, machine)).value());
    };
    const auto in_flight = static_cast<double>((pipeline.shape.in_flight() * pipeline.saved_by_a_pass()).value());
    const Line line = line_of(peak);
    EXPECT_NEAR(line.slope, -in_flight, 0.04 * in_flight) << rank;
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
