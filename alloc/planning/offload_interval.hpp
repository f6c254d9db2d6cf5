// An offload interval: the time in an iteration when a run, or part of it, is off the device. It is evicted
// after one step and must be back for another.
//
// Every published offload strategy is a choice of these: which gaps to use, when the fetch begins, and where
// the bytes are meanwhile.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/location.hpp"
#include "planning/iteration.hpp"

namespace tessera {

// More than the size of any run.
inline constexpr Bytes kWholeRun{~std::uint64_t{0}};

struct OffloadInterval {
  Gap gap;
  // The fetch begins when this step is launched. gap.until means on demand, so late. If the gap wraps, a step
  // after gap.after is in the same iteration, any other in the next.
  std::uint32_t back_at = 0;
  // Where the bytes are meanwhile: anywhere but on the device; kNowhere = they are recomputed. A run that finds no room
  // on a peer goes to the host, and one that finds no room in the host goes to the file.
  Location to = Location::kHost;
  Bytes part = kWholeRun;  // this many bytes leave, in whole pages from the run's end; the rest stays
};

// The resources that a plan may assume. Rates are bytes per second; 0 means that there is no such link.
struct Machine {
  Bytes device{};  // for the iteration's runs
  Bytes small{};   // additional device memory, used by small runs
  Bytes host{};
  Bytes file{};
  double out_rate = 0;
  double in_rate = 0;
  double file_write_rate = 0;
  double file_read_rate = 0;
  Bytes peer{};             // memory borrowed from another device
  double peer_rate = 0;     // per direction, all links to it together
  Nanoseconds mapping{};    // the host's time for a page that is fetched: to map it, and to unmap it later
  Nanoseconds copy_turn{};  // at most this long it waits before, while bytes are copied to the host
  bool unseen = false;      // work may use runs without naming them: Residency::expect_unseen_work()
  std::uint32_t grace = 0;  // if so: the number of launches on its stream that a run stays after a use
};

inline bool has_peer(const Machine& machine) { return machine.peer && machine.peer_rate > 0; }
inline bool has_file(const Machine& machine) { return machine.file_write_rate > 0 && machine.file_read_rate > 0; }

// The host's time to map so many pages, in nanoseconds.
inline double mapping_time(const Machine& machine, std::uint64_t pages) {
  return static_cast<double>(machine.mapping.value()) * static_cast<double>(pages);
}

using OffloadPlan = std::vector<OffloadInterval>;

}  // namespace tessera
