#include "policy/atc24_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
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

TEST(Atc24Policy, TakesTheSmallestTenthThatFitsWhenNotTold) {
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
