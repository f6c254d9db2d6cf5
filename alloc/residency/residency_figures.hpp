// What the engine answers about itself: counts, sums over its runs, where bytes are, and whether its records agree.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "residency/locked_engine.hpp"

namespace tessera {

class ResidencyFigures {
 public:
  // REQUIRES: it outlives this.
  explicit ResidencyFigures(const LockedEngine& locked) : locked_(locked) {}

  ResidencyStats stats() const;
  // What each run has cost, of those that have cost anything; of freed ones the costliest.
  std::vector<CostlyRun> costs() const;
  // Changes while the program uses the device.
  struct Progress {
    std::uint64_t launches = 0;
    Bytes fetched;
    bool operator==(const Progress&) const = default;
  };
  Progress progress() const;
  Bytes pinned_bytes() const;  // of runs that may not be evicted
  Bytes live_bytes() const;    // of runs with a live block: a device of this size would need no eviction
  std::vector<std::pair<const char*, Bytes>> exposures() const;  // by the call that exposed the run first
  // Each page counted in its nearest tier; of tags with any pages.
  std::vector<BytesByTag::Sum> bytes_by_tag() const;
  std::array<Bytes, kLocations> whereabouts(
      const Run& run) const;  // each page counted in its nearest tier, device first
  Status validate() const;

 private:
  const LockedEngine& locked_;
};

}  // namespace tessera
