#include "planning/run_roles.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// A weight (0) and two activations (1, 2): both are made by the first step and used by the second. The third uses
// another weight (3), and the last one an activation alone.
class RunRolesTest : public ::testing::Test {
 protected:
  static Iteration make_iteration() {
    Iteration iteration;
    for (const Bytes bytes : {8_MiB, 4_MiB, 16_MiB, 2_MiB}) iteration.runs.push_back({.bytes = bytes});
    iteration.uses = {{.run = 0},
                      {.run = 1, .writes = true, .fresh = true},
                      {.run = 2, .writes = true, .fresh = true},
                      {.run = 0},
                      {.run = 1},
                      {.run = 2},
                      {.run = 3},
                      {.run = 1}};
    iteration.steps = {{.first_use = 0, .end_use = 3},
                       {.first_use = 3, .end_use = 6},
                       {.first_use = 6, .end_use = 7},
                       {.first_use = 7, .end_use = 8}};
    return iteration;
  }
  // The runs that have roles 0, 1 and 2 in the step, by name.
  std::vector<std::uint64_t> match(std::uint32_t step, const std::vector<RunRoles::Use>& uses) {
    std::vector<std::uint64_t> names;
    roles_.look_at(uses);
    for (const std::uint32_t i : roles_.match(iteration_, step))
      names.push_back(i == RunRoles::kNone ? 0 : uses[i].run);
    return names;
  }
  using Names = std::vector<std::uint64_t>;

  const Iteration iteration_ = make_iteration();
  RunRoles roles_{iteration_};
};

// The order of a launch's runs says nothing, nor do their sizes once their roles are known.
TEST_F(RunRolesTest, ARunKeepsItsRoleWithinAPass) {
  EXPECT_EQ(match(0, {{22, 40_MiB, true, true}, {100, 8_MiB, false, false}, {11, 10_MiB, true, true}}),
            (Names{100, 11, 22}));
  EXPECT_EQ(match(1, {{11, 10_MiB, false, false}, {22, 40_MiB, false, false}, {100, 8_MiB, false, false}}),
            (Names{100, 11, 22}));
  EXPECT_EQ(roles_.bytes(), (std::vector<Bytes>{8_MiB, 10_MiB, 40_MiB, 2_MiB}));
}

TEST_F(RunRolesTest, ARunThatLivesLongerKeepsItsRoleInTheNextPass) {
  match(0, {{100, 8_MiB, false, false}, {11, 4_MiB, true, true}, {22, 16_MiB, true, true}});
  roles_.begin_pass();
  // The names of the activations have changed places, and the smaller one is larger than the weight now.
  EXPECT_EQ(match(0, {{11, 64_MiB, true, true}, {22, 12_MiB, true, true}, {100, 8_MiB, false, false}}),
            (Names{100, 22, 11}));
}

// An address that is used again holds another block.
TEST_F(RunRolesTest, AFreshUseBeginsAnotherLife) {
  match(0, {{100, 8_MiB, false, false}, {11, 4_MiB, true, true}, {22, 16_MiB, true, true}});
  EXPECT_EQ(match(0, {{22, 4_MiB, true, true}, {100, 8_MiB, false, false}, {11, 32_MiB, true, true}}),
            (Names{100, 22, 11}));
}

// What lives on is not replaced by what happens to be used where it was, as long as it is there.
TEST_F(RunRolesTest, AnUnknownRunTakesTheRoleThatIsLeft) {
  match(0, {{100, 8_MiB, false, false}, {11, 4_MiB, true, true}, {22, 16_MiB, true, true}});
  EXPECT_EQ(match(1, {{7, 8_MiB, false, false}, {22, 16_MiB, false, false}, {11, 4_MiB, false, false}}),
            (Names{0, 11, 22}));
  roles_.forget(100);
  EXPECT_EQ(match(1, {{7, 8_MiB, false, false}, {22, 16_MiB, false, false}, {11, 4_MiB, false, false}}),
            (Names{7, 11, 22}));
}

TEST_F(RunRolesTest, WhatLivesOnTellsTheStep) {
  const auto fit = [&](std::uint32_t step, const std::vector<RunRoles::Use>& uses) {
    roles_.look_at(uses);
    return roles_.fit(step);
  };
  match(0, {{100, 8_MiB, false, false}, {11, 4_MiB, true, true}, {22, 16_MiB, true, true}});
  match(2, {{200, 2_MiB, false, false}});
  EXPECT_EQ(fit(1, {{100, 8_MiB, false, false}}), RunRoles::Fit::kYes);
  EXPECT_EQ(fit(1, {{200, 2_MiB, false, false}}), RunRoles::Fit::kNo);
  EXPECT_EQ(fit(2, {{200, 2_MiB, false, false}}), RunRoles::Fit::kYes);
  EXPECT_EQ(fit(2, {{11, 4_MiB, false, false}}), RunRoles::Fit::kMaybe);  // an activation tells nothing
  EXPECT_EQ(fit(3, {{11, 4_MiB, false, false}}), RunRoles::Fit::kUntold);
  EXPECT_EQ(fit(2, {{200, 2_MiB, false, true}}), RunRoles::Fit::kMaybe);  // another block
  EXPECT_TRUE(roles_.can_tell());
}

// The workspace of a library is used by many launches.
TEST(RunRolesOfAWorkspace, TellsNoStep) {
  Iteration iteration;
  iteration.runs = {{.bytes = 32_MiB}};
  for (std::uint32_t i = 0; i <= RunRoles::kCommon; ++i) {
    iteration.uses.push_back({.run = 0});
    iteration.steps.push_back({.first_use = i, .end_use = i + 1});
  }
  EXPECT_FALSE(RunRoles(iteration).can_tell());
  iteration.steps.pop_back();
  iteration.uses.pop_back();
  EXPECT_TRUE(RunRoles(iteration).can_tell());
}

// Another kernel does the work of the step on other memory: what is new is known, if there is as much as before.
TEST_F(RunRolesTest, ALaunchMayUseMoreOrLessThanTheStep) {
  EXPECT_EQ(
      match(0,
            {{100, 8_MiB, false, false}, {22, 40_MiB, true, true}, {11, 10_MiB, true, true}, {7, 1_MiB, true, false}}),
      (Names{0, 11, 22}));
  EXPECT_EQ(roles_.seen(), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(match(1, {{11, 10_MiB, false, false}}), (Names{0, 11, 0}));
}

}  // namespace
}  // namespace tessera
