// Counters of the engine. They only grow; rates and ratios are left to the reader.
//
// Thread safety: values.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "observe/stall_cause.hpp"
#include "residency/pages/run_cost.hpp"

namespace tessera {

struct ResidencyStats {
  Bytes bytes_in, bytes_out;  // over the link, in both directions
  Bytes bytes_file_read, bytes_file_written;
  Bytes bytes_peer_in, bytes_peer_out;
  std::uint64_t fetches = 0, evictions = 0;  // pages fetched by a copy, pages evicted by a copy
  std::uint64_t forwards = 0;                // copies out that were dropped: used again meanwhile
  std::uint64_t clean_evictions = 0;         // pages evicted without a copy: one was valid
  std::uint64_t checks = 0;                  // pages with their fingerprint compared to their copy's,
  std::uint64_t checks_changed = 0;          // and those of them that had changed
  std::uint64_t unchanged_evictions = 0;     // of clean_evictions: proven unchanged by a check
  Bytes unchanged_bytes;                     // of these
  std::uint64_t left_unreachable = 0;        // pages of runs that launches do not show, which did not stay reachable
  std::uint64_t exchanges = 0;               // pages of partial blocks that came to the device in place of others
  std::uint64_t discards = 0;                // pages evicted without a copy: the bytes were dead
  Bytes dropped_bytes;                       // evicted without a copy: a callback recomputes them
  std::uint64_t recomputes = 0;              // runs recomputed by a callback
  Bytes recomputed_bytes;                    // of their pages that were fetched this way
  Nanoseconds recompute_time;                // device time, as stated with each callback
  std::uint64_t sinks = 0, loads = 0;        // pages spilled to the file, loaded from the file
  std::uint64_t late_fetches = 0;            // pages missing when work was about to be queued
  std::uint64_t stalls = 0;                  // calls of the program that waited for a move
  Nanoseconds stall_time;
  StallParts stall_parts;                // both of these by cause
  std::uint64_t launches = 0, uses = 0;  // announced uses, and the runs in them
  Bytes run_bytes;                       // pages of all runs
  Bytes pinned_bytes, exposed_bytes;     // of runs that may not move
  Bytes zero_copy_bytes;                 // used in host memory
  Bytes reachable_bytes;                 // there in case that kernels use them unannounced
  CostliestRuns costliest;               // of runs that were freed
};

}  // namespace tessera
