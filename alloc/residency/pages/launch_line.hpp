// All that a launch reads and writes of a run, in one cache line.
//
// A base of Run, so that its members read as the run's own: run.used, run.missing.
//
// Thread safety: any thread; stamps are written only inside the gate, or while the run is held.
//
// Invariants
//  1. missing == the number of pages that are not present (page_state.hpp).
//  2. is_row, once set, stays.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/epoch.hpp"

namespace tessera {

struct alignas(64) LaunchLine {
  explicit LaunchLine(std::uint32_t pages) : missing(pages) {}

  std::atomic<std::uint32_t> missing;           // pages not present; 0 = a launch may use it
  std::atomic<std::uint32_t> live{0};           // blocks that may be live; 0 = no launch can use it
  std::atomic<Epoch> used{};                    // the last announced use
  std::atomic<Epoch> written{};                 // the last announced use that may write
  std::atomic<std::uint64_t> gap{0};            // epochs between its last two uses; 0 = unknown
  std::atomic<bool> fresh{true};                // allocated since its last use
  std::atomic<bool> is_row{false};              // `parts` are there, and stay
  std::atomic<bool> is_cut{false};              // an address in it may mean less, or more, than the run
  std::atomic<bool> is_wide{false};             // of a range: not all of it fitted on the device for a use
  std::atomic<std::uint64_t> recomputed_in{0};  // nanoseconds, for the learner; 0 = no callback
  std::atomic<std::uint64_t> streams{0};        // a bit per StreamTable slot that may still use it
  std::atomic<Epoch> freed{};                   // when one of its blocks was last freed
};
static_assert(sizeof(LaunchLine) == 64);

}  // namespace tessera
