#include "residency/eviction/victim_choice.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "residency_fixture.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

std::uint64_t fetches_of_a_scan(const std::string& policy) {
  ResidencyMachine machine({.device = 20_MiB, .policy = policy, .options = {.low_percent = 0, .high_percent = 0}});
  const auto runs = machine.add_many(15);
  for (std::uint64_t round = 0; round < 10; ++round) {
    for (auto* run : runs) {
      EXPECT_OK(round == 0 ? machine.write(run, 1) : machine.check(run, 1));
      EXPECT_OK(machine.sim().synchronize(DeviceId(0)));
      machine.residency().advance();
    }
  }
  return machine.residency().figures().stats().fetches;
}

TEST(VictimChoice, ACyclicScanKeepsHitsWithRecencyAndNoneWithLru) {
  EXPECT_EQ(fetches_of_a_scan("lru"), 9U * 15);
  EXPECT_LT(fetches_of_a_scan("recency"), 9U * 15 * 2 / 3);
}

TEST(VictimChoice, ADeadRunGoesBeforeThoseThatLiveAndAPinnedOneNever) {
  ResidencyMachine machine({.device = 8_MiB, .policy = "lru"});
  const auto runs = machine.add_many(4);
  for (auto* run : runs) ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.residency().pins().pin(runs[0]));
  runs[2]->live.store(0);
  auto* const first = machine.add();
  ASSERT_OK(machine.write(first, 1));
  EXPECT_EQ(runs[2]->bytes_in(PageState::kResident), Bytes());
  auto* const second = machine.add();
  ASSERT_OK(machine.write(second, 1));
  EXPECT_EQ(runs[1]->bytes_in(PageState::kResident), Bytes()) << "the least recently used of those that may go";
  EXPECT_EQ(runs[0]->bytes_in(PageState::kResident), kBasePage);
  ASSERT_OK(machine.residency().pins().unpin(runs[0]));
}

// Runs of a base page each, without contents: the first `on_device` of them fill the device, least recently used first.
class ManyRuns {
 public:
  ManyRuns(std::size_t on_device, std::size_t others, Bytes host)
      : sim_(sim_options({.device = kBasePage * on_device, .host = host, .out_rate = 25e9, .in_rate = 25e9}), clock_),
        layers_(sim_, clock_, {.device = kBasePage * on_device, .host = host, .staging = Bytes()}, sim_file(clock_, {}),
                host_pages_) {
    EXPECT_OK(layers_.add_residency(make_policy("lru").take()));
    const Bytes addresses = kBasePage * (on_device + others) * 2;
    EXPECT_OK(layers_.add_pages(addresses, addresses));
    for (std::size_t i = 0; i < on_device + others; ++i) {
      auto run = layers_.pages->acquire(kBasePage, {0, StreamId(), TagId()}, {});
      EXPECT_OK(run.status());
      runs_.push_back(run.take());
      runs_.back()->live.store(1);
    }
    for (std::size_t i = 0; i < on_device; ++i) EXPECT_OK(use(i));
    EXPECT_EQ(left(), 0U);
  }
  ~ManyRuns() {
    EXPECT_OK(sim_.synchronize(DeviceId()));
    for (Run* run : runs_) EXPECT_OK(layers_.pages->release(run));
  }

  // A launch that writes the run; it is over on return, and the engine knows.
  Status use(std::size_t run) {
    Use use;
    TESSERA_TRY(layers_.residency->begin_use({&runs_[run], 1}, StreamId(), Access::kWrite, Use::Kind::kGate, use));
    const Status queued = sim_.occupy(StreamId(), Nanoseconds(1000), {});
    layers_.residency->end_use({&runs_[run], 1}, StreamId(), use);
    TESSERA_TRY(queued);
    TESSERA_TRY(sim_.synchronize(StreamId()));
    layers_.residency->advance();
    return {};
  }
  // Runs, of those used so far, that have left the device or are leaving it.
  std::size_t left() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        runs_, [](const Run* run) { return run->used.load() != Epoch() && !run->has(PageState::kResident); }));
  }
  bool is_resident(std::size_t run) const { return runs_[run]->has(PageState::kResident); }
  Run& operator[](std::size_t run) { return *runs_[run]; }
  Residency& residency() { return *layers_.residency; }

 private:
  VirtualClock clock_;
  NoHostPages host_pages_;
  SimDriver sim_;
  SimLayers layers_;
  std::vector<Run*> runs_;
};

constexpr std::size_t kMany = VictimChoice::kMany, kAhead = kMany / VictimChoice::kShare;

TEST(VictimChoice, OfManyRunsAShareLeavesAheadOfNeedSoThatFewPicturesAreTaken) {
  ManyRuns machine(kMany, 3 * (kAhead + 1), 8_GiB);
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i <= kAhead; ++i) {
      ASSERT_OK(machine.use(kMany + round * (kAhead + 1) + i));
      EXPECT_EQ(machine.left(), (round + 1) * (kAhead + 1)) << "launch " << i << " of round " << round;
    }
  }
  for (std::size_t i = 0; i < 3 * (kAhead + 1); ++i) EXPECT_FALSE(machine.is_resident(i)) << i;
  EXPECT_TRUE(machine.is_resident(3 * (kAhead + 1))) << "in the policy's order, and no further";
  EXPECT_OK(machine.residency().figures().validate());
}

TEST(VictimChoice, OfFewerRunsOnlyWhatIsNeededLeaves) {
  ManyRuns machine(kMany - 1, 2, 8_GiB);
  ASSERT_OK(machine.use(kMany - 1));
  EXPECT_EQ(machine.left(), 1U);
  ASSERT_OK(machine.use(kMany));
  EXPECT_EQ(machine.left(), 2U);
}

TEST(VictimChoice, WhatLeavesAheadOfNeedStopsWhereTheTiersBelowAreFull) {
  ManyRuns machine(kMany, 3, kBasePage * 3);
  ASSERT_OK(machine.use(kMany));
  EXPECT_EQ(machine.left(), 3U);
  EXPECT_FALSE(machine.is_resident(2));
  EXPECT_TRUE(machine.is_resident(3));
  EXPECT_OK(machine.residency().figures().validate());
}

TEST(VictimChoice, WhatLeavesAheadOfNeedIsNothingThatMayNotOrIsExpected) {
  ManyRuns machine(kMany + 1, 1, 8_GiB);
  ASSERT_OK(machine.residency().pins().pin(&machine[1]));
  machine[2].prefetch = {.requested = true, .as_of = machine[2].last_work()};
  ASSERT_OK(machine.use(kMany + 1));
  EXPECT_FALSE(machine.is_resident(0));
  EXPECT_TRUE(machine.is_resident(1)) << "it is pinned";
  EXPECT_TRUE(machine.is_resident(2)) << "it was fetched for a launch that comes";
  EXPECT_FALSE(machine.is_resident(3));
  ASSERT_OK(machine.residency().pins().unpin(&machine[1]));
}

}  // namespace
}  // namespace tessera
