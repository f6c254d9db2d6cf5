// One repeated iteration of a program as a policy sees it: steps in order, and the runs they use.
//
// After the last step comes the first again. Between two uses of a run lies a *gap*: the only time
// in which its bytes may be elsewhere. Every published strategy is a choice of gaps (papers.md §8).
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "learn/run_class.hpp"

namespace tessera {

struct RunUse {
  std::uint32_t run = 0;   // index into Iteration::runs
  bool writes = false;
  bool fresh = false;      // allocated anew since its last use: what it held does not matter
};

// Where a page has valid copies of its bytes: a set. None = nothing behind it.
using Places = std::uint8_t;
inline constexpr Places kAtDevice = 1, kAtHost = 2, kAtFile = 4, kAtPeer = 8;

struct IterationRun {
  Bytes bytes{};
  TagId tag{};
  Nanoseconds regenerate{};  // its bytes can be remade in this time; 0 = they cannot
  bool pinned = false;     // has to stay on the device
  RunClass kind = RunClass::kUnknown;  // as its tag says
  std::uint32_t lingers = 0;  // if it is allocated anew: steps from its last use to its free
  std::vector<Places> pages{};  // where they were at Iteration::stands_at; empty = nobody knows
};

// An iteration that has more is known with so many.
inline constexpr std::uint32_t kMostStreams = 8;

struct IterationStep {
  Nanoseconds duration{};
  std::uint32_t first_use = 0;  // into Iteration::uses
  std::uint32_t end_use = 0;
  std::uint32_t stream = 0;  // below kMostStreams; steps of several may run at once
};

// Runs of up to one base page, slabs mostly, each time that blocks live there. No plan moves them, each would be an order of
// its own; but they take room and keep launches waiting, so a rehearsal has them.
struct SmallRuns {
  std::vector<IterationRun> runs;
  std::vector<RunUse> uses;         // in the order of steps
  std::vector<std::uint32_t> ends;  // by step, into `uses`; empty where there are none
};

struct Iteration {
  std::vector<IterationStep> steps;
  std::vector<RunUse> uses;  // each run at most once per step
  std::vector<IterationRun> runs;
  SmallRuns small;
  // The program as it was when it was asked about: the step that was launched last, if that is known, ...
  std::optional<std::uint32_t> stands_at;
  std::vector<IterationRun> others;  // ... and runs that no step uses, but take room

  std::span<const RunUse> uses_of(std::uint32_t step) const {
    return std::span(uses).subspan(steps[step].first_use,
                                   steps[step].end_use - steps[step].first_use);
  }
};

// From the use in step `after` to the next one in step `until`. Of a run that is used once,
// both are the same step, an iteration apart.
struct Gap {
  std::uint32_t run = 0;
  std::uint32_t after = 0;
  std::uint32_t until = 0;
  bool wraps = false;  // `until` is in the next iteration
  bool dead = false;   // the run is allocated anew before `until`: nothing to keep
};

// All gaps of all runs that are used: of one run in the order of steps, the one that wraps last.
std::vector<Gap> find_gaps(const Iteration& iteration);

// What all its steps take, where those of several streams run at once: no iteration is faster.
Nanoseconds computing_time(const Iteration& iteration);

// The same iteration, begun at another step. REQUIRES: nothing is known of where the program stands in it.
Iteration begun_at(const Iteration& iteration, std::uint32_t first);

// The same iteration where small runs are runs like others, behind them by number and in each step.
Iteration with_small_runs(const Iteration& iteration);

// For each use, in how many steps its run is used again: 1 to the number of steps.
std::vector<std::uint32_t> next_use_distances(const Iteration& iteration);

// For each use, whether it is the last before its run is allocated anew: what it held matters no more.
std::vector<bool> last_uses_before_fresh(const Iteration& iteration);

// For each step, the runs that are freed behind it.
std::vector<std::vector<std::uint32_t>> frees_by_step(const Iteration& iteration);

// For each run, whether its block lives behind step `last`. REQUIRES: `frees` are those of the iteration.
std::vector<bool> live_behind(const Iteration& iteration, const std::vector<std::vector<std::uint32_t>>& frees,
                              std::uint32_t last);

}  // namespace tessera
