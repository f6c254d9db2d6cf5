#include "residency/eviction/onward_pages.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(OnwardPages, StagedPagesSpillToTheFile) {
  ResidencyMachine machine({.host = 0_B, .file = 32_MiB});
  auto* run = machine.add({0, 2});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.residency().drain());
  EXPECT_EQ(machine.residency().figures().whereabouts(*run)[3], 4_MiB);
  EXPECT_EQ(machine.residency().figures().stats().bytes_file_written, 4_MiB);
  EXPECT_OK(machine.check(run, 1));
}

TEST(OnwardPages, StagedPagesStayInTheHostOnceItHasRoom) {
  ResidencyMachine machine({.device = 8_MiB, .host = 2_MiB, .staging = 64_MiB});
  auto* first = machine.add();
  auto* second = machine.add();
  ASSERT_OK(machine.write(first, 1));
  ASSERT_OK(machine.write(second, 2));
  ASSERT_OK(machine.evict(first));
  ASSERT_OK(machine.evict(second));
  EXPECT_TRUE(second->pages[0].copy.staging);
  ASSERT_OK(machine.residency().runs().remove(first));
  machine.residency().advance();
  EXPECT_FALSE(second->pages[0].copy.staging);
  EXPECT_OK(machine.check(second, 2));
}

// ---- reads and writes share the staging reserve -------------------------------------------------
TEST(OnwardPages, AReadGetsAStagingFrameWhileWritesHoldThemAllAndNoWriteOvertakesIt) {
  // A copy out takes 40 ms, so runs evicted ahead of need hold the whole reserve when the read begins.
  ResidencyMachine machine({.host = 0_B,
                            .staging = 8_MiB,
                            .file = 64_MiB,
                            .options = {.low_percent = 40, .high_percent = 50},
                            .sim = {.memory = 64_MiB, .outbound = {50'000'000, {}}}});
  auto* wanted = machine.add();
  ASSERT_OK(machine.write(wanted, 1));
  ASSERT_OK(machine.evict(wanted));
  ASSERT_OK(machine.settle());
  ASSERT_EQ(machine.residency().figures().whereabouts(*wanted)[3], 2_MiB);
  // No run is evicted ahead of need while all runs fit: with the last one they do not.
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_OK(machine.write(machine.add(), i));
  ASSERT_OK(machine.sim().synchronize(StreamId(0)));
  machine.residency().advance();
  ASSERT_EQ(machine.tiers().host.take_staging(PageClass::kBase, DeviceId(0)).status().code(), Code::kBusy);
  const std::uint64_t begun = machine.fault().calls(DriverCall::kCopyOut);
  ASSERT_OK(machine.check(wanted, 1));
  EXPECT_EQ(machine.fault().calls(DriverCall::kCopyOut), begun);
  EXPECT_GT(machine.residency().figures().stats().loads, 0U);
}

}  // namespace
}  // namespace tessera
