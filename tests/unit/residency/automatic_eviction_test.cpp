#include "residency/automatic_eviction.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(AutomaticEvictionTest, SwitchedOffNoRunIsEvictedForAnother) {
  ResidencyMachine machine({.device = 8_MiB});
  const auto runs = machine.add_many(4);
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.write(runs[i], i));
  ASSERT_OK(machine.residency().automatic().set(false));
  EXPECT_FALSE(machine.residency().automatic().is_on());
  for (std::uint64_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(machine.residency().figures().whereabouts(*runs[i])[0], runs[i]->shape.bytes());
  }
  auto* more = machine.add();
  EXPECT_EQ(machine.touch({more}).code(), Code::kOutOfMemory) << "nothing is evicted for it";
  ASSERT_OK(machine.residency().automatic().set(true));
  EXPECT_TRUE(machine.residency().automatic().is_on());
  EXPECT_OK(machine.touch({more}));
  for (std::uint64_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine.check(runs[i], i));
}

// Work that was not announced may have written: copies in lower tiers are invalid.
TEST(AutomaticEvictionTest, BytesWrittenWhileItWasOffAreNotLost) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.residency().automatic().set(false));
  const Epoch before = run->written.load();
  ASSERT_OK(machine.residency().automatic().account_for_unannounced());
  EXPECT_GT(run->written.load(), before);
  ASSERT_OK(machine.residency().automatic().set(true));
  const Epoch then = run->written.load();
  ASSERT_OK(machine.residency().automatic().account_for_unannounced());
  EXPECT_EQ(run->written.load(), then) << "while it is on, all work is announced";
}

}  // namespace
}  // namespace tessera
