// A repeated iteration of a program as a policy sees it: steps in order, and the runs they use.
//
// The last step is followed by the first. Between two uses of a run is a *gap*: only then can its bytes be
// elsewhere. Every published strategy is a choice of gaps.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/location.hpp"
#include "base/units.hpp"
#include "planning/run_class.hpp"

namespace tessera {

struct RunUse {
  std::uint32_t run = 0;  // index into Iteration::runs
  bool writes = false;
  bool fresh = false;  // reallocated since its last use: the old contents do not matter
};

struct IterationRun {
  Bytes bytes{};
  TagId tag{};
  Nanoseconds recompute{};             // time to recompute its bytes; 0 = not possible
  bool pinned = false;                 // must stay on the device
  RunClass kind = RunClass::kUnknown;  // from its tag
  std::uint32_t lingers = 0;           // if reallocated in each iteration: steps from its last use to its free
  // Where each page's bytes were at Iteration::last_step, or nowhere if it has no contents. No pages: unknown.
  std::vector<Locations> pages{};
};

// An iteration on more streams is recorded with this many.
inline constexpr std::uint32_t kMostStreams = 8;

struct IterationStep {
  Nanoseconds duration{};
  std::uint32_t first_use = 0;  // index into Iteration::uses
  std::uint32_t end_use = 0;
  std::uint32_t stream = 0;  // below kMostStreams; steps of different streams may overlap
  Nanoseconds before{};      // work on the stream ahead of it that uses no managed block: no step, but time for copies
};

// Runs of up to one base page, mostly slabs, with one entry per period in which blocks live there. Plans do not
// move them, because each would need its own command, but they occupy memory and stall launches, so a
// simulation includes them.
struct SmallRuns {
  std::vector<IterationRun> runs;
  std::vector<RunUse> uses;         // in step order
  std::vector<std::uint32_t> ends;  // per step, into `uses`; empty if there are none
};

struct Iteration {
  std::vector<IterationStep> steps;
  std::vector<RunUse> uses;  // each run at most once per step
  std::vector<IterationRun> runs;
  SmallRuns small;
  // The state of the program when it was captured: the step launched last, if known ...
  std::optional<std::uint32_t> last_step;
  std::vector<IterationRun> others;  // ... and runs that no step uses but that occupy memory

  std::span<const RunUse> uses_of(std::uint32_t step) const {
    return std::span(uses).subspan(steps[step].first_use, steps[step].end_use - steps[step].first_use);
  }
};

// From a use in step `after` to the next one in step `until`. For a run that is used once, both are the same
// step in consecutive iterations.
struct Gap {
  std::uint32_t run = 0;
  std::uint32_t after = 0;
  std::uint32_t until = 0;
  bool wraps = false;  // `until` is in the next iteration
  bool dead = false;   // the run is reallocated before `until`: there is nothing to keep
};

// All gaps of all used runs; the gaps of one run are in step order, the wrapping one last.
std::vector<Gap> find_gaps(const Iteration& iteration);

// A lower bound for the iteration: the largest sum of work on one stream.
Nanoseconds computing_time(const Iteration& iteration);

// The same iteration, starting at another step. REQUIRES: last_step is not set.
Iteration begun_at(const Iteration& iteration, std::uint32_t first);

// The same iteration if each block was freed behind its last use; none if that is so.
std::optional<Iteration> freed_at_once(const Iteration& iteration);

// The same iteration with small runs as ordinary runs, numbered after the others and used in each step.
Iteration with_small_runs(const Iteration& iteration);

// For each use, the number of steps until its run is used again: 1 to the number of steps.
std::vector<std::uint32_t> next_use_distances(const Iteration& iteration);

// For each use, whether it is the last before its run is reallocated, after which its contents do not matter.
std::vector<bool> last_uses_before_fresh(const Iteration& iteration);

// For each step, the runs that are freed after it.
std::vector<std::vector<std::uint32_t>> frees_by_step(const Iteration& iteration);

// For each run, whether its block is live after step `last`. REQUIRES: `frees` belong to the iteration.
std::vector<bool> live_behind(const Iteration& iteration, const std::vector<std::vector<std::uint32_t>>& frees,
                              std::uint32_t last);

}  // namespace tessera
