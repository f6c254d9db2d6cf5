#include "sim/simulated_engine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "policy/lru_policy.hpp"
#include "policy/mru_policy.hpp"
#include "policy/recency_policy.hpp"

namespace tessera {
namespace {

constexpr std::uint32_t kLayers = 12;
constexpr Nanoseconds kStep{10'000'000};
constexpr Nanoseconds kAnyTime{~std::uint64_t{0}};

// Layers of 64 MiB, written in forward and read in reverse order, and a weight of 32 MiB for each.
Iteration training() {
  Iteration iteration;
  for (std::uint32_t i = 0; i < 2 * kLayers; ++i) {
    const bool forward = i < kLayers;
    const std::uint32_t layer = forward ? i : 2 * kLayers - 1 - i;
    iteration.uses.push_back({.run = layer, .writes = forward, .fresh = forward});
    iteration.uses.push_back({.run = kLayers + layer});
    iteration.steps.push_back({.duration = kStep, .first_use = 2 * i, .end_use = 2 * i + 2});
  }
  for (std::uint32_t i = 0; i < kLayers; ++i) iteration.runs.push_back({.bytes = 64_MiB});
  for (std::uint32_t i = 0; i < kLayers; ++i) iteration.runs.push_back({.bytes = 32_MiB});
  return iteration;
}

Machine machine(Bytes device, double rate = 25e9) {
  return {.device = device, .host = 4_GiB, .out_rate = rate, .in_rate = rate};
}

class SimulatedEngineTest : public ::testing::Test {
 protected:
  Result<Nanoseconds> play(const Machine& machine, OffloadPlan plan = {}, Nanoseconds limit = kAnyTime) {
    const std::atomic<Nanoseconds> enough(limit);
    const Strategy strategy{"", std::move(plan), &lru_};
    std::unique_ptr<SimulatedEngine> engine;
    TESSERA_TRY_ASSIGN(engine, SimulatedEngine::create(iteration_, machine, strategy, recency_));
    return engine->play(enough, stop_);
  }
  // Every activation is evicted after it was written, and its fetch starts two steps before it is read.
  OffloadPlan leave_and_come_back() const {
    OffloadPlan plan;
    for (const Gap& gap : find_gaps(iteration_)) {
      if (gap.dead || gap.run >= kLayers || gap.until - gap.after < 4) continue;
      plan.push_back({.gap = gap, .back_at = gap.until - 2});
    }
    return plan;
  }

  Iteration iteration_ = training();
  LruPolicy lru_;
  RecencyPolicy recency_;  // before the strategy
  std::atomic<bool> stop_{false};
};

TEST_F(SimulatedEngineTest, AFittingIterationTakesTheSumOfItsSteps) {
  EXPECT_EQ(play(machine(2_GiB)).take(), kStep * (2 * kLayers));
}

// Eight steps on two streams alternately; `use` returns what each uses.
Iteration on_two_streams(const std::function<RunUse(std::uint32_t step)>& use) {
  Iteration iteration;
  iteration.runs = {{.bytes = 64_MiB}, {.bytes = 64_MiB}};
  for (std::uint32_t i = 0; i < 8; ++i) {
    iteration.uses.push_back(use(i));
    iteration.steps.push_back({.duration = kStep, .first_use = i, .end_use = i + 1, .stream = i % 2});
  }
  return iteration;
}

TEST_F(SimulatedEngineTest, StepsOfTwoStreamsRunAtOnce) {
  iteration_ = on_two_streams([](std::uint32_t i) { return RunUse{.run = i % 2, .writes = true}; });
  EXPECT_EQ(play(machine(2_GiB)).take(), kStep * 4);
  iteration_ = on_two_streams([](std::uint32_t) { return RunUse{.run = 0}; });
  EXPECT_EQ(play(machine(2_GiB)).take(), kStep * 4) << "readers do not wait for readers";
}

TEST_F(SimulatedEngineTest, StepsOfTwoStreamsWaitForWritersAndReaders) {
  iteration_ = on_two_streams([](std::uint32_t) { return RunUse{.run = 0, .writes = true}; });
  EXPECT_EQ(play(machine(2_GiB)).take(), kStep * 8);
  iteration_ = on_two_streams([](std::uint32_t i) { return RunUse{.run = 0, .writes = i % 2 == 0}; });
  EXPECT_EQ(play(machine(2_GiB)).take(), kStep * 8);
}

TEST_F(SimulatedEngineTest, AnOversubscribedIterationWaitsForItsLinks) {
  EXPECT_GT(play(machine(640_MiB, 5e9)).take(), kStep * (2 * kLayers));
  EXPECT_GT(play(machine(640_MiB, 1e9)).take(), play(machine(640_MiB, 5e9)).take());
}

TEST_F(SimulatedEngineTest, AnOversubscribedIterationWaitsForItsMappings) {
  Machine slow = machine(640_MiB, 5e9);
  const Nanoseconds free = play(slow).take();
  slow.mapping = Nanoseconds(500'000);
  EXPECT_GT(play(slow).take(), free);
}

TEST_F(SimulatedEngineTest, RecomputeTakesComputeTimeAndNoLinkTime) {
  constexpr Nanoseconds kRecompute{7'000'000};
  const Machine slow = machine(576_MiB, 1e9);
  OffloadPlan plan = leave_and_come_back();
  const Nanoseconds copied = play(slow, plan).take();
  for (std::uint32_t run = 0; run < kLayers; ++run) iteration_.runs[run].recompute = kRecompute;
  for (OffloadInterval& interval : plan) {
    interval.to = Location::kNowhere;
    interval.back_at = interval.gap.until;
  }
  const Nanoseconds recomputed = play(slow, plan).take();
  EXPECT_LT(recomputed, copied);
  EXPECT_GE(recomputed, kStep * (2 * kLayers) + kRecompute * plan.size());
}

TEST_F(SimulatedEngineTest, FollowsThePlanEvenIfItIsSlower) {
  const Machine fast = machine(704_MiB, 6e9), slow = machine(512_MiB, 4e9);
  EXPECT_LT(play(fast, leave_and_come_back()).take(), play(fast).take());
  EXPECT_GT(play(slow, leave_and_come_back()).take(), play(slow).take());
}

TEST_F(SimulatedEngineTest, IsDeterministic) {
  EXPECT_EQ(play(machine(640_MiB, 3e9)).take(), play(machine(640_MiB, 3e9)).take());
}

TEST_F(SimulatedEngineTest, SpillsToTheFileWhenTheHostIsFull) {
  Machine small = machine(640_MiB);
  small.host = 128_MiB;
  EXPECT_EQ(play(small).status().code(), Code::kOutOfMemory);
  small.file = 4_GiB, small.file_write_rate = 1.5e9, small.file_read_rate = 3e9;
  EXPECT_GT(play(small).take(), play(machine(640_MiB)).take());
}

TEST_F(SimulatedEngineTest, AStepThatDoesNotFitIsOutOfMemory) {
  EXPECT_EQ(play(machine(64_MiB)).status().code(), Code::kOutOfMemory);
}

TEST_F(SimulatedEngineTest, SmallRunsTakeRoomAndKeepStepsWaiting) {
  const Nanoseconds without = play(machine(576_MiB)).take();
  constexpr std::uint32_t kSmall = 64;  // per layer, for its forward and backward pass
  for (std::uint32_t i = 0; i < 2 * kLayers; ++i) {
    const std::uint32_t layer = i < kLayers ? i : 2 * kLayers - 1 - i;
    for (std::uint32_t j = 0; j < kSmall; ++j) {
      iteration_.small.uses.push_back({.run = layer * kSmall + j, .writes = i < kLayers});
    }
    iteration_.small.ends.push_back(static_cast<std::uint32_t>(iteration_.small.uses.size()));
  }
  iteration_.small.runs.assign(kLayers * kSmall, {.bytes = kBasePage});
  Machine with = machine(576_MiB);
  EXPECT_GT(play(with).take(), without);
  with.small = kBasePage * kLayers * kSmall;  // room for all of them
  EXPECT_LE(play(with).take(), without);
}

TEST_F(SimulatedEngineTest, HeldBlocksTakeRoom) {
  const Nanoseconds freed_at_once = play(machine(640_MiB, 5e9)).take();
  for (std::uint32_t i = 0; i < kLayers; ++i) iteration_.runs[i].lingers = i;  // to the end of the backward pass
  EXPECT_GT(play(machine(640_MiB, 5e9)).take(), freed_at_once);
}

TEST_F(SimulatedEngineTest, PinnedRunsStay) {
  for (std::uint32_t i = 0; i < kLayers; ++i) iteration_.runs[kLayers + i].pinned = true;
  EXPECT_TRUE(play(machine(640_MiB)).is_ok());
  EXPECT_EQ(play(machine(384_MiB)).status().code(), Code::kOutOfMemory);
}

// One pass without the strategy, one to settle, two that are equal, and the work queued after them.
TEST_F(SimulatedEngineTest, SimulatesUntilTwoPassesAreEqual) {
  const Machine small = machine(640_MiB, 5e9);
  const Strategy strategy{"", {}, &lru_};
  const auto engine = SimulatedEngine::create(iteration_, small, strategy, recency_).take();
  const std::atomic<Nanoseconds> enough(kAnyTime);
  const Nanoseconds candidates = engine->play(enough, stop_).take();
  EXPECT_GE(engine->passes(), 4);
  EXPECT_LT(engine->passes(), SimulatedEngine::kMostPasses);
  EXPECT_GT(candidates, kStep * (2 * kLayers));
}

// Nothing is left to simulate of the current iteration, so all passes are complete and of equal time.
TEST_F(SimulatedEngineTest, StartsWithTheRestOfTheCurrentIteration) {
  iteration_.last_step = 2 * kLayers - 1;
  EXPECT_EQ(play(machine(2_GiB)).take(), kStep * (2 * kLayers));
  iteration_.last_step = kLayers - 1;
  for (std::uint32_t i = 0; i < kLayers; ++i)
    iteration_.runs[i].pages.assign(2, i % 2 == 0 ? Location::kHost : Location::kDevice);
  EXPECT_EQ(play(machine(2_GiB)).take(), kStep * (2 * kLayers));
  EXPECT_GT(play(machine(640_MiB, 1e9)).take(), kStep * (2 * kLayers));
}

TEST_F(SimulatedEngineTest, AnUnusedBlockTakesRoom) {
  Machine small = machine(640_MiB, 1e9);
  small.host = 640_MiB;
  iteration_.last_step = 2 * kLayers - 1;
  const Nanoseconds without = play(small).take();
  iteration_.others.assign(2, {.bytes = 256_MiB, .pages = std::vector<Locations>(8, Location::kHost)});
  EXPECT_EQ(play(small).status().code(), Code::kOutOfMemory);
  small.host = 1152_MiB;
  EXPECT_EQ(play(small).take(), without);
}

TEST_F(SimulatedEngineTest, StopsWhenBeatenOrStopped) {
  EXPECT_EQ(play(machine(640_MiB, 1e9), {}, kStep).status().code(), Code::kBusy);
  stop_.store(true);
  EXPECT_EQ(play(machine(640_MiB)).status().code(), Code::kBusy);
}

// Fourteen runs in a circle, six times around, and room for ten: LRU evicts the one that is needed next.
TEST_F(SimulatedEngineTest, AStrategyThatIsClearlyFasterIsNotedAfterItsFirstPass) {
  iteration_ = {};
  for (std::uint32_t i = 0; i < 14; ++i) iteration_.runs.push_back({.bytes = 64_MiB});
  for (std::uint32_t round = 0; round < 6; ++round) {
    iteration_.runs.push_back({.bytes = 4_MiB + round * kBasePage});  // distinguishes the rounds
  }
  for (std::uint32_t i = 0; i < 6 * 14; ++i) {
    iteration_.uses.push_back({.run = i % 14});
    iteration_.uses.push_back({.run = 14 + i / 14});
    iteration_.steps.push_back({.duration = Nanoseconds(1'000'000), .first_use = 2 * i, .end_use = 2 * i + 2});
  }
  const std::atomic<Nanoseconds> enough(kAnyTime);
  const auto times_noted = [&](const Policy& fallback) {
    std::vector<Nanoseconds> noted;
    const Strategy strategy{"", {}, &fallback};
    const auto engine = SimulatedEngine::create(iteration_, machine(640_MiB, 10e9), strategy, lru_).take();
    const auto played = engine->play(enough, stop_, [&](Nanoseconds pass) {
      noted.push_back(pass);
      EXPECT_LT(pass + pass / SimulatedEngine::kClearly, engine->alone());
      EXPECT_LE(engine->passes(), SimulatedEngine::kAlone + 1) << "it is noted while the next pass is queued";
    });
    EXPECT_TRUE(played.is_ok()) << played.status().to_string();
    EXPECT_GT(engine->passes(), SimulatedEngine::kAlone + 1);
    return noted.size();
  };
  EXPECT_EQ(times_noted(MruPolicy()), 1U);
  EXPECT_EQ(times_noted(lru_), 0U) << "it is no faster than itself";
}

}  // namespace
}  // namespace tessera
