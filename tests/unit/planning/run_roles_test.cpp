#include "planning/run_roles.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// A weight (0) and two activations (1, 2): both are made by the first step and used by the second.
class RunRolesTest : public ::testing::Test {
 protected:
  static Iteration make_iteration() {
    Iteration iteration;
    for (const Bytes bytes : {8_MiB, 4_MiB, 16_MiB}) iteration.runs.push_back({.bytes = bytes});
    iteration.uses = {{.run = 0},
                      {.run = 1, .writes = true, .fresh = true},
                      {.run = 2, .writes = true, .fresh = true},
                      {.run = 0},
                      {.run = 1},
                      {.run = 2}};
    iteration.steps = {{.first_use = 0, .end_use = 3}, {.first_use = 3, .end_use = 6}};
    return iteration;
  }
  // The runs that have roles 0, 1 and 2 in the step, by name.
  std::vector<std::uint64_t> match(std::uint32_t step, const std::vector<RunRoles::Use>& uses) {
    std::vector<std::uint64_t> names;
    for (const std::uint32_t i : roles_.match(iteration_, step, uses)) names.push_back(uses[i].run);
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
  EXPECT_EQ(roles_.bytes(), (std::vector<Bytes>{8_MiB, 10_MiB, 40_MiB}));
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

TEST_F(RunRolesTest, AnUnknownRunTakesTheRoleThatIsLeft) {
  match(0, {{100, 8_MiB, false, false}, {11, 4_MiB, true, true}, {22, 16_MiB, true, true}});
  EXPECT_EQ(match(1, {{7, 8_MiB, false, false}, {22, 16_MiB, false, false}, {11, 4_MiB, false, false}}),
            (Names{7, 11, 22}));
}

}  // namespace
}  // namespace tessera
