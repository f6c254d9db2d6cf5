#include "planning/occupancy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

TEST(Occupancy, CountsRunsFromTheirFirstUseToTheirLast) {
  const Iteration iteration = test::stack(4, 1_MiB, 100);
  const Machine machine = test::machine_of(3_MiB, 1e12);
  const GapTime time(iteration, machine);
  EXPECT_FALSE(Occupancy(iteration, 4_MiB - 1_B, time).fits());
  EXPECT_TRUE(Occupancy(iteration, 4_MiB, time).fits());
}

TEST(Occupancy, AnIntervalHelpsWhereItFreesAFullStep) {
  const Iteration iteration = test::stack(4, 1_MiB, 1'000'000);
  const Machine machine = test::machine_of(3_MiB, 25e9);
  const GapTime time(iteration, machine);
  Occupancy occupancy(iteration, 3_MiB, time);
  const OffloadInterval first{.gap = {.run = 0, .after = 0, .until = 7}, .back_at = 6};
  const OffloadInterval too_short{.gap = {.run = 0, .after = 0, .until = 7}, .back_at = 2};
  EXPECT_FALSE(occupancy.helps(too_short));
  EXPECT_TRUE(occupancy.helps(first));
  occupancy.take(first);
  EXPECT_TRUE(occupancy.fits());
  EXPECT_FALSE(occupancy.helps({.gap = {.run = 1, .after = 1, .until = 6}, .back_at = 5}));
}

TEST(Occupancy, ARunIsThereUntilItsCopyOutIsOver) {
  const Iteration iteration = test::stack(4, 1_MiB, 1'000'000);
  const Machine machine = test::machine_of(3_MiB, 1e9);  // a copy takes more than one step
  const GapTime time(iteration, machine);
  const Occupancy occupancy(iteration, 3_MiB, time);
  EXPECT_FALSE(occupancy.helps({.gap = {.run = 2, .after = 2, .until = 5}, .back_at = 4}));
}

}  // namespace
}  // namespace tessera
