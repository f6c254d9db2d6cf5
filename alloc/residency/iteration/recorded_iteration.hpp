// The iteration that the last recorded launches form.
//
// A run of an iteration represents one life of a block: a block that is reallocated may have another address each time,
// and one address serves several blocks. So a run of the iteration begins with a fresh use and ends where its block was
// freed, which is noticed when the address is next used afresh, or recorded (LaunchRecord::freed).
//
// Thread safety: pure functions of a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/epoch.hpp"
#include "planning/iteration.hpp"
#include "residency/iteration/launch_record.hpp"

namespace tessera {

// The most rounds of a loop that make up one iteration.
inline constexpr std::size_t kMostRounds = 1024;

// The last `period` launches as an iteration, without durations. The `alike` launches before them repeated the
// iteration too. REQUIRES: the record has `period` launches.
Iteration iteration_of(const LaunchRecord& record, std::size_t period, std::size_t alike);
// Given that the last `period` launches repeat by signature: the number of launches after which they use the same
// memory again, apart from blocks that are reallocated. A loop over the layers of a model uses other weights in each
// round. 0 = more than kMostRounds rounds, or more launches than are known. One round suffices only if the memory was
// the same for `sure` launches: a sweep over many blocks that turns round uses one of them twice. REQUIRES: the record
// has `period` launches.
std::size_t same_memory_after(const LaunchRecord& record, std::size_t period, std::size_t sure = 0);

// For each run of that iteration its last use. REQUIRES: nothing was recorded since.
struct LastSeen {
  std::uint64_t run = 0;  // by name
  Epoch epoch{};
};
std::vector<LastSeen> last_seen(const LaunchRecord& record, const Iteration& iteration);

}  // namespace tessera
