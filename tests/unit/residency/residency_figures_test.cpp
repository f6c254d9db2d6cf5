#include "residency/residency_figures.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(ResidencyStatistics, WhereaboutsAndLiveBytesFollowTheRun) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 2});
  machine.add()->live.store(0);
  EXPECT_EQ(machine.residency().figures().live_bytes(), 4_MiB);
  ASSERT_OK(machine.write(run, 1));
  EXPECT_EQ(machine.residency().figures().whereabouts(*run)[0], 4_MiB);
  ASSERT_OK(machine.evict(run));
  EXPECT_EQ(machine.residency().figures().whereabouts(*run)[2], 4_MiB);
  EXPECT_EQ(machine.residency().figures().stats().evictions, 2U);
  EXPECT_EQ(machine.residency().figures().stats().bytes_out, 4_MiB);
}

TEST(ResidencyStatistics, PinnedBytesAndExposuresAreThoseOfTheirRuns) {
  ResidencyMachine machine;
  auto* pinned = machine.add({0, 2});
  auto* exposed = machine.add({0, 3});
  ASSERT_OK(machine.residency().pins().pin(pinned));
  ASSERT_OK(machine.residency().pins().pin(exposed, "a call"));
  const ResidencyFigures& figures = machine.residency().figures();
  EXPECT_EQ(figures.pinned_bytes(), 10_MiB);
  ASSERT_EQ(figures.exposures().size(), 1U);
  EXPECT_EQ(figures.exposures()[0].second, 6_MiB);
  EXPECT_EQ(figures.stats().exposed_bytes, 6_MiB);
  EXPECT_OK(figures.validate());
  ASSERT_OK(machine.residency().pins().unpin(pinned));
  EXPECT_EQ(figures.pinned_bytes(), 6_MiB);
}

}  // namespace
}  // namespace tessera
