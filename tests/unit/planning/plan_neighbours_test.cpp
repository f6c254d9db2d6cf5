#include "planning/plan_neighbours.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/page_class.hpp"
#include "iterations.hpp"
#include "planning/aggressive_plan.hpp"
#include "planning/farthest_intervals.hpp"

namespace tessera {
namespace {

constexpr int kDraws = 2000;

class PlanNeighboursTest : public ::testing::Test {
 protected:
  PlanNeighboursTest() : plan_(farthest_intervals(iteration_, machine_.device)) {}

  static std::uint32_t position(const Iteration& iteration, const Gap& gap, std::uint32_t step) {
    const auto count = static_cast<std::uint32_t>(iteration.steps.size());
    const std::uint32_t inside = (step + count - gap.after) % count;
    return inside == 0 ? count : inside;
  }
  void expect_sound(const OffloadPlan& plan) const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> gaps;
    for (const OffloadInterval& interval : plan) {
      const Gap& gap = interval.gap;
      EXPECT_TRUE(gaps.insert({gap.run, gap.after}).second) << "two in one gap";
      EXPECT_FALSE(iteration_.runs[gap.run].pinned);
      EXPECT_FALSE(gap.dead);
      EXPECT_GT(interval.part, Bytes());
      EXPECT_LE(position(iteration_, gap, interval.back_at), position(iteration_, gap, gap.until));
    }
  }

  static Iteration made() {
    Iteration iteration = test::stack(12, 64_MiB, 1'000'000);
    iteration.runs[3].pinned = true;
    return iteration;
  }

  const Iteration iteration_ = made();
  const Machine machine_ = test::machine_of(512_MiB, test::kRate);
  const OffloadPlan plan_;
};

TEST_F(PlanNeighboursTest, AreValidAfterManySteps) {
  PlanNeighbours neighbours(iteration_, machine_);
  ASSERT_FALSE(plan_.empty());
  OffloadPlan plan = plan_;
  for (int i = 0; i < kDraws; ++i) {
    plan = neighbours.draw(std::move(plan));
    expect_sound(plan);
  }
}

// A block that is dead and held all through the iteration leaves less room to fetch early. Some plans are timed for its
// true life, and some as if it was freed.
TEST_F(PlanNeighboursTest, AreTimedBothWaysWhereABlockLingers) {
  Iteration held = iteration_;
  const auto added = static_cast<std::uint32_t>(held.runs.size());
  held.runs.push_back({.bytes = 128_MiB, .lingers = static_cast<std::uint32_t>(held.steps.size() - 2)});
  held.uses.insert(held.uses.begin(), {.run = added, .writes = true, .fresh = true});
  for (IterationStep& step : held.steps) {
    if (&step != &held.steps.front()) ++step.first_use;
    ++step.end_use;
  }
  const Iteration freed = freed_at_once(held).value();
  const auto is_timed_for = [this](const Iteration& iteration, const OffloadPlan& plan) {
    return std::ranges::equal(aggressive_plan(iteration, machine_, plan), plan, [](const auto& a, const auto& b) {
      return a.gap.run == b.gap.run && a.gap.after == b.gap.after && a.back_at == b.back_at && a.part == b.part;
    });
  };
  PlanNeighbours neighbours(held, machine_);
  int as_held = 0, as_freed = 0;
  for (int i = 0; i < kDraws / 10; ++i) {
    const OffloadPlan plan = neighbours.draw(plan_);
    if (plan.empty() || is_timed_for(held, plan) == is_timed_for(freed, plan)) continue;
    ++(is_timed_for(held, plan) ? as_held : as_freed);
  }
  EXPECT_GT(as_held, 10);
  EXPECT_GT(as_freed, 10);
}

TEST_F(PlanNeighboursTest, VaryEveryPartOfAPlan) {
  PlanNeighbours neighbours(iteration_, machine_);
  bool more = false, fewer = false, part = false, sooner = false, later = false;
  for (int i = 0; i < kDraws; ++i) {
    const OffloadPlan plan = neighbours.draw(plan_);
    more |= plan.size() > plan_.size();
    fewer |= plan.size() < plan_.size();
    if (plan.size() != plan_.size()) continue;
    for (std::size_t at = 0; at < plan.size(); ++at) {
      if (plan[at].gap.run != plan_[at].gap.run) continue;
      const Gap& gap = plan[at].gap;
      const std::uint32_t now = position(iteration_, gap, plan[at].back_at);
      const std::uint32_t before = position(iteration_, plan_[at].gap, plan_[at].back_at);
      part |= plan[at].part != plan_[at].part;
      sooner |= now < before;
      later |= now > before;
    }
  }
  EXPECT_TRUE(more);
  EXPECT_TRUE(fewer);
  EXPECT_TRUE(part);
  EXPECT_TRUE(sooner);
  EXPECT_FALSE(later) << "there is no later than when it is needed";
}

std::size_t in_file(const OffloadPlan& plan) {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan, [](const OffloadInterval& interval) { return interval.to == Location::kFile; }));
}

TEST_F(PlanNeighboursTest, UseTheFileOnlyWhenTheHostIsTooSmall) {
  Machine machine = machine_;
  machine.file = 1_GiB, machine.file_write_rate = machine.file_read_rate = test::kRate;
  const auto moved = [&](Bytes host, OffloadPlan plan) {
    machine.host = host;
    PlanNeighbours neighbours(iteration_, machine);
    for (int i = 0; i < kDraws; ++i) plan = neighbours.draw(std::move(plan));
    return in_file(plan);
  };
  EXPECT_EQ(moved(1_GiB, plan_), 0u);
  EXPECT_GT(moved(128_MiB, plan_), 0u);
}

TEST_F(PlanNeighboursTest, AlsoMoveRunsFromTheFileToTheHost) {
  Machine machine = machine_;
  machine.host = 128_MiB, machine.file = 1_GiB, machine.file_write_rate = machine.file_read_rate = test::kRate;
  OffloadPlan plan = plan_;
  for (OffloadInterval& interval : plan) interval.to = Location::kFile;
  PlanNeighbours neighbours(iteration_, machine);
  bool back = false;
  for (int i = 0; i < kDraws && !back; ++i) {
    const OffloadPlan drawn = neighbours.draw(plan);
    back = drawn.size() == plan.size() && in_file(drawn) < plan.size();
  }
  EXPECT_TRUE(back);
}

TEST_F(PlanNeighboursTest, AddIntervalsToAnEmptyPlan) {
  PlanNeighbours neighbours(iteration_, machine_);
  bool some = false;
  for (int i = 0; i < kDraws; ++i) {
    const OffloadPlan plan = neighbours.draw({});
    some |= !plan.empty();
    expect_sound(plan);
  }
  EXPECT_TRUE(some);
}

// Two runs that swap from iteration to iteration count as one, even if a step uses both.
TEST_F(PlanNeighboursTest, IgnoreGapsInsideAStep) {
  test::IterationBuilder build;
  build.run(64_MiB);
  build.step(100, {test::reads(0), test::writes(0)});
  build.step(100, {test::reads(0)});
  const Iteration twice = build.done();
  const std::vector<Gap> gaps = find_gaps(twice);
  const auto inside = std::ranges::find_if(gaps, [](const Gap& gap) { return gap.after == gap.until && !gap.wraps; });
  ASSERT_NE(inside, gaps.end());
  PlanNeighbours neighbours(twice, machine_);
  for (int i = 0; i < kDraws; ++i) {
    const OffloadPlan plan = neighbours.draw({{.gap = *inside, .back_at = inside->until}});
    for (const OffloadInterval& interval : neighbours.draw({})) {
      EXPECT_TRUE(interval.gap.after != interval.gap.until || interval.gap.wraps);
    }
    for (const OffloadInterval& interval : plan) EXPECT_LT(interval.back_at, twice.steps.size());
  }
}

TEST_F(PlanNeighboursTest, ContainNoEmptyInterval) {
  PlanNeighbours neighbours(iteration_, machine_);
  OffloadPlan plan = plan_;
  for (OffloadInterval& interval : plan) interval.part = Bytes();
  for (int i = 0; i < kDraws; ++i) expect_sound(neighbours.draw(plan));
}

TEST_F(PlanNeighboursTest, AreDeterministic) {
  PlanNeighbours one(iteration_, machine_), other(iteration_, machine_);
  for (int i = 0; i < kDraws; ++i) {
    const OffloadPlan a = one.draw(plan_), b = other.draw(plan_);
    ASSERT_TRUE(std::ranges::equal(a, b, [](const OffloadInterval& x, const OffloadInterval& y) {
      return x.gap.run == y.gap.run && x.gap.after == y.gap.after && x.back_at == y.back_at && x.part == y.part;
    }));
  }
}

TEST_F(PlanNeighboursTest, AreNoneWhenAllRunsArePinned) {
  Iteration pinned = iteration_;
  for (IterationRun& run : pinned.runs) run.pinned = true;
  PlanNeighbours neighbours(pinned, machine_);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(neighbours.draw({}).empty());
}

}  // namespace
}  // namespace tessera
