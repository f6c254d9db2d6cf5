// A tracker with a small program, and a policy that plans for all of it.
//
// Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "base/virtual_clock.hpp"
#include "residency/iteration/iteration_tracker.hpp"
#include "sim/sim_driver.hpp"

namespace tessera::test {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

// Evicts in every gap longer than a step, and fetches with the step before the end.
class EveryGap final : public Policy {
 public:
  std::string_view name() const override { return "every-gap"; }
  Decision decide(const Snapshot&) const override { return {}; }
  OffloadPlan plan(const Iteration& iteration, const Machine&) const override {
    seen = iteration;
    OffloadPlan plan;
    const auto steps = static_cast<std::uint32_t>(iteration.steps.size());
    for (const Gap& gap : find_gaps(iteration)) {
      if ((gap.until + steps - gap.after) % steps == 1) continue;
      plan.push_back({.gap = gap, .back_at = (gap.until + steps - 1) % steps, .to = to});
    }
    return plan;
  }
  mutable Iteration seen;
  Location to = Location::kHost;
};

// A program of kLayers layers: step i writes activation i, and step 2 * kLayers - 1 - i reads it.
class IterationTrackerTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kLayers = 20;

  IterationTrackerTest() { tracker_.note_shortage(); }
  ~IterationTrackerTest() override { EXPECT_TRUE(sim_.destroy_stream(stream_).is_ok()); }

  DeviceRun* make_run(RunShape shape = {0, 2}) { return make_run_at(runs_.size() + 1, shape, TagId()); }
  DeviceRun* make_run_at(std::uint64_t place, RunShape shape, TagId tag) {
    runs_.push_back(std::make_unique<DeviceRun>(Address(place << 26), shape, tag));
    return runs_.back().get();
  }
  void launch(const char& work, DeviceRun* run, bool writes) { launch(work, std::span(&run, 1), writes); }
  void launch(const char& work, std::span<DeviceRun* const> runs, bool writes) {
    const auto watch = tracker_.times() ? tracker_.watches().start(stream_) : std::nullopt;
    tracker_.log().note(&work, runs, ++epoch_, writes, watch, StreamId());
    EXPECT_TRUE(sim_.occupy(stream_, Nanoseconds(100 + static_cast<std::uint64_t>(&work - works_)), {}).is_ok());
    if (watch) tracker_.watches().stop(*watch, stream_);
    EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
    IterationTracker::Orders orders;
    if (tracker_.wants_plan()) tracker_.ask_for_plan({.device = 64_MiB});
    tracker_.read(orders, clock_.now());
    for (const IterationTracker::Order& leave : orders.evict) left_.push_back(leave);
    for (const IterationTracker::Order& come : orders.fetch) came_.push_back(come.run);
  }
  // Uses new runs every time, as an allocator may return them; they are still live when the next iteration begins.
  void iterate() {
    std::vector<DeviceRun*> activations;
    for (std::size_t i = 0; i < kLayers; ++i) {
      activations.push_back(make_run());
      launch(works_[i], activations.back(), true);
    }
    for (std::size_t i = kLayers; i-- > 0;) launch(works_[2 * kLayers - 1 - i], activations[i], false);
  }
  void forget_orders() {
    left_.clear();
    came_.clear();
  }

  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB, .contents = SimContents::kNone}, clock_};
  const StreamId stream_ = sim_.create_stream(DeviceId(0)).take();
  EveryGap policy_;
  FirstStrategy planner_{policy_};
  RunList runs_;
  IterationTracker tracker_{sim_, DeviceId(0), policy_, planner_, runs_};
  const char works_[16 * kLayers] = {};  // more than the program has
  Epoch epoch_;
  std::vector<IterationTracker::Order> left_;
  std::vector<DeviceRun*> came_;
};

}  // namespace tessera::test
