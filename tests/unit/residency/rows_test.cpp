// Runs that become rows: their pages stay where they are, and move by parts.
#include "residency/eviction/rows.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

constexpr RunShape kLarge{8, 0};  // 256 MiB, four parts

ResidencySetup setup(Bytes device, Bytes host = 512_MiB) {
  return {.device = device, .host = host, .staging = 64_MiB, .sim = {.memory = device + 64_MiB}};
}

Extents quarters() {
  return Extents::of({{0_B, 64_MiB}, {64_MiB, 64_MiB}, {128_MiB, 64_MiB}, {192_MiB, 64_MiB}}, 256_MiB).take();
}

TEST(Rows, ContentsSurviveWhileTheRunIsSplitAndMoves) {
  ResidencyMachine machine(setup(320_MiB));
  auto* run = machine.add(kLarge);
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.check(run, 1));  // the copies back may be in flight
  machine.residency().runs().expect_parts(run);
  ASSERT_TRUE(run->is_row.load());
  EXPECT_EQ(machine.valid(), "ok");
  ASSERT_OK(machine.check(run, 1));
  ASSERT_OK(machine.evict(run));
  EXPECT_EQ(machine.valid(), "ok");
  EXPECT_EQ(machine.residency().figures().whereabouts(*run)[2], 256_MiB);
  ASSERT_OK(machine.check(run, 1));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(run->missing.load(), 0U);
}

TEST(Rows, ARunBecomesOneWithCopiesOutInFlight) {
  ResidencyMachine machine(setup(320_MiB));
  auto* run = machine.add(kLarge);
  auto* other = machine.add(kLarge);
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.write(other, 2));  // `run` leaves for it
  machine.residency().runs().expect_parts(run);
  machine.residency().runs().expect_parts(other);
  EXPECT_EQ(machine.valid(), "ok");
  ASSERT_OK(machine.check(run, 1));
  ASSERT_OK(machine.check(other, 2));
  EXPECT_EQ(machine.valid(), "ok");
}

TEST(Rows, APartComesAlone) {
  ResidencyMachine machine(setup(320_MiB));
  auto* run = machine.add(kLarge);
  ASSERT_OK(machine.write(run, 1));
  machine.residency().runs().expect_parts(run);
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.touch({run->parts[2]}));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.residency().figures().whereabouts(*run)[0], 64_MiB);
  EXPECT_EQ(run->missing.load(), 6U);
  EXPECT_EQ(machine.residency().figures().stats().fetches, 2U);
  EXPECT_OK(machine.check(run, 1));
}

TEST(Rows, APartInUseStaysWhileAnotherLeaves) {
  ResidencyMachine machine(setup(128_MiB));
  auto* run = machine.add(kLarge);
  ASSERT_OK(machine.residency().ensure(run, StreamId(0)));
  ASSERT_TRUE(run->is_row.load()) << "it is larger than the device";
  EXPECT_EQ(machine.residency().figures().whereabouts(*run)[0], 0_B) << "its parts come when they are used";
  const std::vector<tessera::Run*> first = {run->parts[0]};
  Use use;
  ASSERT_OK(machine.residency().begin_use(first, StreamId(0), Access::kWrite, Use::Kind::kHold, use));
  ASSERT_OK(machine.touch({run->parts[1]}));
  ASSERT_OK(machine.touch({run->parts[2]}));
  EXPECT_EQ(run->parts[0]->missing.load(), 0U);
  machine.residency().end_use(first, StreamId(0), use);
  EXPECT_EQ(machine.valid(), "ok");
}

TEST(Rows, AllOfOneThatIsLargerThanTheDeviceIsRefused) {
  ResidencyMachine machine(setup(192_MiB));
  auto* run = machine.add(kLarge);
  ASSERT_OK(machine.residency().ensure(run, StreamId(0)));
  const Status whole = machine.touch({run});
  EXPECT_EQ(whole.code(), Code::kOutOfMemory);
  EXPECT_NE(whole.message().find("uses 256 MiB at once"), std::string_view::npos) << whole.message();
  ASSERT_OK(machine.touch({run->parts[0], run->parts[3]}));
  EXPECT_EQ(machine.valid(), "ok");
}

TEST(Rows, APinKeepsAllParts) {
  ResidencyMachine machine(setup(320_MiB));
  auto* run = machine.add(kLarge);
  ASSERT_OK(machine.residency().ensure(run, StreamId(0)));
  machine.residency().runs().expect_parts(run);
  ASSERT_OK(machine.residency().pins().pin(run));
  EXPECT_EQ(machine.residency().figures().pinned_bytes(), 256_MiB);
  EXPECT_EQ(machine.residency().evict({&run->parts[1], 1}).code(), Code::kBusy);
  EXPECT_EQ(machine.valid(), "ok");
  ASSERT_OK(machine.residency().pins().unpin(run));
  EXPECT_OK(machine.residency().evict({&run->parts[1], 1}));
  EXPECT_EQ(machine.residency().figures().pinned_bytes(), 0_B);
}

TEST(Rows, SleepAndWakeMoveAllParts) {
  ResidencyMachine machine(setup(320_MiB));
  auto* run = machine.add(kLarge);
  ASSERT_OK(machine.write(run, 3));
  machine.residency().runs().expect_parts(run);
  const auto slept = machine.residency().sleeper().sleep(std::nullopt);
  ASSERT_OK(slept.status());
  EXPECT_EQ(slept.value().moved, 256_MiB);
  const auto woken = machine.residency().sleeper().wake(std::nullopt);
  ASSERT_OK(woken.status());
  EXPECT_EQ(woken.value().moved, 256_MiB);
  EXPECT_OK(machine.check(run, 3));
}

TEST(Rows, RemovingOneReturnsEverything) {
  ResidencyMachine machine(setup(320_MiB));
  auto* run = machine.add(kLarge);
  auto* other = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.write(other, 1));
  machine.residency().runs().expect_parts(run);
  ASSERT_OK(machine.residency().evict({&run->parts[0], 1}));
  const std::vector<tessera::Run*> part = {run->parts[1]};
  Use use;
  ASSERT_OK(machine.residency().begin_use(part, StreamId(0), Access::kRead, Use::Kind::kHold, use));
  EXPECT_EQ(machine.residency().runs().remove(run).code(), Code::kBusy) << "a call uses a part of it";
  EXPECT_EQ(machine.valid(), "ok");
  machine.residency().end_use(part, StreamId(0), use);
  ASSERT_OK(machine.residency().runs().remove(run));
  EXPECT_EQ(machine.valid(), "ok");
  EXPECT_EQ(machine.residency().figures().live_bytes(), 2_MiB);
  EXPECT_OK(machine.check(other, 1));
}

TEST(Rows, RunsThatAreSmallOrHaveACallbackStayWhole) {
  ResidencyMachine machine(setup(320_MiB));
  auto* small = machine.add({7, 15});
  machine.residency().runs().expect_parts(small);
  EXPECT_FALSE(small->is_row.load());
  EXPECT_OK(machine.residency().runs().set_extents(small, quarters()).status());
  EXPECT_FALSE(small->is_cut.load());
  auto* remade = machine.add(kLarge);
  ASSERT_OK(machine.residency().recomputation().set(remade, {[](StreamId) { return Status(); }, Nanoseconds(1)}));
  machine.residency().runs().expect_parts(remade);
  EXPECT_FALSE(remade->is_row.load());
}

TEST(Rows, ExtentsAreReplacedAndEndWithTheBlock) {
  ResidencyMachine machine(setup(320_MiB));
  auto* run = machine.add(kLarge);
  const auto first = machine.residency().runs().set_extents(run, quarters());
  ASSERT_OK(first.status());
  EXPECT_EQ(first.value(), nullptr);
  EXPECT_TRUE(run->is_cut.load());
  const auto second = machine.residency().runs().set_extents(run, Extents::of({{0_B, 1_MiB}}, 256_MiB).take());
  ASSERT_OK(second.status());
  ASSERT_NE(second.value(), nullptr);
  EXPECT_EQ(second.value()->all().size(), 4U) << "the caller destroys it";
  machine.residency().note_free(run, StreamId(0));
  EXPECT_FALSE(run->is_cut.load());
  EXPECT_OK(machine.residency().runs().set_extents(run, std::nullopt).status());
}

}  // namespace
}  // namespace tessera
