// What a run has cost so far, and the few runs that have cost most.
//
// Thread safety: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "observe/event.hpp"

namespace tessera {

struct RunCost {
  std::array<Bytes, kLinks> moved;
  std::uint64_t stalls = 0;  // calls that waited for it
  Nanoseconds stalled;       // and for how long

  Bytes all_moved() const {
    Bytes sum;
    for (Bytes bytes : moved) sum += bytes;
    return sum;
  }
  bool operator==(const RunCost&) const = default;
};

struct CostlyRun {
  Address address;
  Bytes bytes;
  TagId tag;
  bool gone = false;
  RunCost cost;
};

// The costliest runs first: by the time calls waited for them, then by bytes moved.
class CostliestRuns {
 public:
  static constexpr std::size_t kMost = 16;

  void offer(const CostlyRun& run);
  std::span<const CostlyRun> runs() const& { return runs_; }
  std::span<const CostlyRun> runs() const&& = delete;  // it would refer to a temporary

 private:
  std::vector<CostlyRun> runs_;  // at most kMost, in order
};

}  // namespace tessera
