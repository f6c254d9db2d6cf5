// What the engine counts. Counters only grow; rates and ratios are the reader's.
//
// Thread safety: values.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "observe/stall_cause.hpp"
#include "residency/run_cost.hpp"

namespace tessera {

struct ResidencyStats {
  Bytes bytes_in, bytes_out;                  // over the link, both directions
  Bytes bytes_file_read, bytes_file_written;
  Bytes bytes_peer_in, bytes_peer_out;
  std::uint64_t fetches = 0, evictions = 0;   // pages that came by a copy, pages that left by one
  std::uint64_t forwards = 0;                 // page-outs dropped: used again meanwhile
  std::uint64_t clean_evictions = 0;          // pages that left without a copy: one was valid
  std::uint64_t checks = 0;                   // pages whose fingerprint was compared with their copy's,
  std::uint64_t checks_changed = 0;           // and those of them that had changed
  std::uint64_t unchanged_evictions = 0;      // of clean_evictions: left so because they had not
  Bytes unchanged_bytes;                      // of these
  std::uint64_t discards = 0;                 // pages that left without a copy: nobody needs them
  Bytes dropped_bytes;                        // left without a copy: a callback remakes them
  std::uint64_t remakes = 0;                  // runs that one has remade
  Bytes remade_bytes;                         // of pages that were back
  Nanoseconds remake_time;                    // of the device, as was said with each callback
  std::uint64_t sinks = 0, rises = 0;         // pages host to file, file to host
  std::uint64_t late_fetches = 0;             // pages missing when work was about to be queued
  std::uint64_t stalls = 0;                   // calls of the program that waited for a move
  Nanoseconds stall_time;
  StallParts stall_parts;                     // both, by what they waited for
  std::uint64_t launches = 0, uses = 0;       // announced uses, and runs in them
  Bytes run_bytes;                            // pages of all runs
  Bytes pinned_bytes, exposed_bytes;          // of runs that may not move
  CostliestRuns costliest;
};

}  // namespace tessera
