#include "planning/iteration.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace tessera {
namespace {

struct LastUse {
  std::uint32_t step = 0;
  std::uint32_t use = 0;
};

// Calls `visit(run, from, to)` with each use of a run and the following one, in the order of the later use.
// `to` may be in the next iteration; those pairs come last, by run.
template <class Visit>
void for_each_pair(const Iteration& iteration, Visit visit) {
  std::vector<std::optional<LastUse>> first(iteration.runs.size()), last(iteration.runs.size());
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    for (std::uint32_t i = iteration.steps[step].first_use; i < iteration.steps[step].end_use; ++i) {
      const std::uint32_t run = iteration.uses[i].run;
      const LastUse use{step, i};
      if (last[run]) visit(run, *last[run], use);
      if (!first[run]) first[run] = use;
      last[run] = use;
    }
  }
  for (std::uint32_t run = 0; run < iteration.runs.size(); ++run) {
    if (first[run]) visit(run, *last[run], *first[run]);
  }
}

}  // namespace

std::vector<Gap> find_gaps(const Iteration& iteration) {
  std::vector<std::vector<Gap>> by_run(iteration.runs.size());
  for_each_pair(iteration, [&](std::uint32_t run, LastUse from, LastUse to) {
    by_run[run].push_back({.run = run,
                           .after = from.step,
                           .until = to.step,
                           .wraps = to.use <= from.use,
                           .dead = iteration.uses[to.use].fresh});
  });
  std::vector<Gap> gaps;
  for (const std::vector<Gap>& own : by_run) gaps.insert(gaps.end(), own.begin(), own.end());
  return gaps;
}

Nanoseconds computing_time(const Iteration& iteration) {
  std::array<Nanoseconds, kMostStreams> sums{};
  for (const IterationStep& step : iteration.steps) sums[step.stream] += step.before + step.duration;
  return *std::ranges::max_element(sums);
}

Iteration begun_at(const Iteration& iteration, std::uint32_t first) {
  Iteration begun;
  begun.runs = iteration.runs;
  begun.small.runs = iteration.small.runs;
  const std::vector<std::uint32_t>& ends = iteration.small.ends;
  const auto count = static_cast<std::uint32_t>(iteration.steps.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t from = (first + i) % count;
    begun.steps.push_back(iteration.steps[from]);
    begun.steps.back().first_use = static_cast<std::uint32_t>(begun.uses.size());
    for (const RunUse& use : iteration.uses_of(from)) begun.uses.push_back(use);
    begun.steps.back().end_use = static_cast<std::uint32_t>(begun.uses.size());
    if (ends.empty()) continue;
    for (std::uint32_t use = from == 0 ? 0 : ends[from - 1]; use < ends[from]; ++use) {
      begun.small.uses.push_back(iteration.small.uses[use]);
    }
    begun.small.ends.push_back(static_cast<std::uint32_t>(begun.small.uses.size()));
  }
  return begun;
}

std::optional<Iteration> freed_at_once(const Iteration& iteration) {
  if (std::ranges::all_of(iteration.runs, [](const IterationRun& run) { return run.lingers == 0; }))
    return std::nullopt;
  Iteration freed = iteration;
  for (IterationRun& run : freed.runs) run.lingers = 0;
  return freed;
}

Iteration with_small_runs(const Iteration& iteration) {
  Iteration all;
  const SmallRuns& small = iteration.small;
  all.runs = iteration.runs;
  const auto first = static_cast<std::uint32_t>(all.runs.size());
  all.runs.insert(all.runs.end(), small.runs.begin(), small.runs.end());
  std::uint32_t begin = 0;
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    const auto uses = iteration.uses_of(step);
    const auto first_use = static_cast<std::uint32_t>(all.uses.size());
    all.uses.insert(all.uses.end(), uses.begin(), uses.end());
    const std::uint32_t end = small.ends.empty() ? 0 : small.ends[step];
    for (; begin < end; ++begin) {
      all.uses.push_back(small.uses[begin]);
      all.uses.back().run += first;
    }
    all.steps.push_back({iteration.steps[step].duration, first_use, static_cast<std::uint32_t>(all.uses.size()),
                         iteration.steps[step].stream, iteration.steps[step].before});
  }
  return all;
}

std::vector<std::uint32_t> next_use_distances(const Iteration& iteration) {
  const auto steps = static_cast<std::uint32_t>(iteration.steps.size());
  std::vector<std::uint32_t> distances(iteration.uses.size());
  for_each_pair(iteration, [&](std::uint32_t, LastUse from, LastUse to) {
    distances[from.use] = to.use > from.use ? to.step - from.step : to.step + steps - from.step;
  });
  return distances;
}

std::vector<bool> last_uses_before_fresh(const Iteration& iteration) {
  std::vector<bool> last(iteration.uses.size());
  for_each_pair(iteration,
                [&](std::uint32_t, LastUse from, LastUse to) { last[from.use] = iteration.uses[to.use].fresh; });
  return last;
}

std::vector<std::vector<std::uint32_t>> frees_by_step(const Iteration& iteration) {
  const auto count = static_cast<std::uint32_t>(iteration.steps.size());
  std::vector<std::vector<std::uint32_t>> frees(count);
  const std::vector<bool> last = last_uses_before_fresh(iteration);
  for (std::uint32_t step = 0; step < count; ++step) {
    for (std::uint32_t i = iteration.steps[step].first_use; i < iteration.steps[step].end_use; ++i) {
      const std::uint32_t run = iteration.uses[i].run;
      if (last[i]) frees[(step + iteration.runs[run].lingers) % count].push_back(run);
    }
  }
  return frees;
}

// Blocks left over by one iteration are live in the next, so two iterations are traversed.
std::vector<bool> live_behind(const Iteration& iteration, const std::vector<std::vector<std::uint32_t>>& frees,
                              std::uint32_t last) {
  const auto count = static_cast<std::uint32_t>(iteration.steps.size());
  std::vector<bool> live(iteration.runs.size());
  for (std::uint32_t i = 0; i <= count + last; ++i) {
    const std::uint32_t step = i % count;
    for (const RunUse& use : iteration.uses_of(step)) live[use.run] = true;
    for (const std::uint32_t run : frees[step]) live[run] = false;
  }
  return live;
}

}  // namespace tessera
