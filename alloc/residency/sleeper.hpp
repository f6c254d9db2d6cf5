// Sleep and wake: evict and fetch all runs of a tag, at link speed.
//
// Sleeping is not a state of a run: it is away like any other evicted run, so it may be used, freed, pinned or woken at
// any time, and new blocks of its tag live in device memory meanwhile.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "residency/automatic_eviction.hpp"
#include "residency/locked_engine.hpp"
#include "residency/recomputation.hpp"

namespace tessera {

class Sleeper {
 public:
  // REQUIRES: all of it outlives it.
  Sleeper(LockedEngine& locked, AutomaticEviction& automatic, Recomputation& recomputation)
      : locked_(locked), automatic_(automatic), recomputation_(recomputation) {}

  // Evicts all runs with the tag (without one: all runs), and returns their frames to the driver. Pinned runs, and runs
  // used meanwhile, stay. Errors: kOutOfMemory when the tiers below have no room, kIo, kDriver; runs evicted by then
  // are fetched again on use. It ends early once `interrupted` is true, which is asked between batches and runs.
  using Interrupted = std::function<bool()>;
  Result<Moved> sleep(std::optional<TagId> tag, const Interrupted& interrupted = {});
  // Bytes of all runs that are not on the device.
  Bytes away() const { return tagged_bytes(std::nullopt, Side::kAway); }
  // Fetches the live bytes of these runs and waits for them. Other runs may be evicted; what still does not fit stays
  // away until it is used. Errors: kDataLoss, kIo, kDriver.
  Result<Moved> wake(std::optional<TagId> tag);

 private:
  enum class Side : std::uint8_t { kThere, kAway };
  struct Waking;

  std::vector<Run*> tagged(std::optional<TagId> tag, Side side) const REQUIRES_LOCK(locked_.mutex);
  Bytes tagged_bytes(std::optional<TagId> tag, Side side) const;
  Result<Waking> hold_away(std::optional<TagId> tag);
  Status start_evicting(std::optional<TagId> tag, const Interrupted& interrupted);
  Status finish_evicting(std::optional<TagId> tag, const Interrupted& interrupted);
  void drop_peer_copies(Run& run) REQUIRES_LOCK(locked_.mutex);
  Status bring_back(Runs runs);

  LockedEngine& locked_;
  AutomaticEviction& automatic_;
  Recomputation& recomputation_;
};

}  // namespace tessera
