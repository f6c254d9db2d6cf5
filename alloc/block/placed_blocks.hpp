// Assigns the blocks of a repeated iteration to shared runs by a plan.
//
// Once a program has gone through a sequence of allocations (a row) and begins it again
// (planning/allocation_row.hpp), a plan decides which of its blocks share runs (planning/shared_runs.hpp). Each
// allocation that follows the row is given its place. The first one that deviates ends this until the position
// in a row is known again. So placement is never a guess, and each pass through the row has the same runs,
// which an eviction plan needs.
//
// Allocations are recorded from the first on, so that a first iteration in which memory runs short is known;
// for a program with ample memory at most AllocationLog::kMost are recorded. Nothing is placed while memory is
// not short. And no row begins to be followed while launches return with other sizes: only iterations of one size would
// share runs, and those of all sizes are recognised by how many runs each launch uses.
//
// Thread safety: all functions may be called from any thread. Threads that allocate concurrently do not follow
// a row.
//
// Bounds: kMostRows rows are kept; the least recently followed one is dropped for a new one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/epoch.hpp"
#include "base/mutex.hpp"
#include "planning/allocation_row.hpp"
#include "planning/moved_block.hpp"
#include "planning/period_place.hpp"
#include "residency/residency.hpp"

namespace tessera {

// A place in a run that blocks share by plan.
struct Spot {
  std::uint32_t run = 0;  // unique among all runs ever planned
  std::uint32_t place = 0;
};

class PlacedBlocks {
 public:
  static constexpr std::size_t kMostRows = 4;

  // A shared run has at most `limit` bytes, and at most what `spare` returns when it is planned, because a
  // launch may use blocks of many runs. A limit of 0 disables sharing.
  PlacedBlocks(Bytes limit, std::function<Bytes()> spare) : limit_(limit), spare_(std::move(spare)) {}

  // Whether ask() must be called for the next block above kSlotLimit.
  bool listens(const Residency& residency) const {
    return limit_ && (!is_over_.load(std::memory_order_relaxed) || residency.is_short());
  }

  struct Asked {
    std::uint64_t number = 0;
    Bytes bytes;
    std::optional<Spot> spot;
    std::vector<MovedBlock> moved;  // when placement begins: earlier blocks that count as placed, in allocation order
  };
  // A block is requested on a stream (by key) with a tag. Where iterations have other sizes each time, no row begins
  // to be followed.
  Asked ask(Bytes bytes, StreamId stream, TagId tag, bool is_short, bool sizes_vary);
  // The block that `asked` was for stays at `stay`, or the allocation failed.
  void note_served(const Asked& asked, const std::optional<AllocationLog::Stay>& stay);
  // `is_alone`: the block could not have shared a run. Launches from this epoch on do not use it.
  void note_freed(Address address, bool is_alone, Epoch epoch);

  // The sizes of all places of a spot's run; empty if its row is no longer known.
  std::vector<Bytes> places_of(std::uint32_t run) const;

 private:
  struct Row {
    PeriodPlace place;
    std::vector<std::optional<Spot>> spots;  // by position in the row
    std::uint32_t first_run, end_run;
    std::uint64_t followed;  // the last allocation that followed it
    bool places = false;     // it has placed blocks
  };

  Row* followed() REQUIRES_LOCK(mutex_);
  std::vector<MovedBlock> moved_by(const Row& row) const REQUIRES_LOCK(mutex_);
  // Plans no row until half as many allocations as the row is long have followed the previous planned one.
  Row* learn(std::uint64_t number) REQUIRES_LOCK(mutex_);
  void make_place() REQUIRES_LOCK(mutex_);

  const Bytes limit_;
  const std::function<Bytes()> spare_;
  std::atomic<bool> is_over_{false};  // the program has run for long with ample memory
  mutable Mutex mutex_{LockRank::kBlock};
  AllocationLog log_ GUARDED_BY(mutex_);
  std::vector<Row> rows_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint32_t, std::vector<Bytes>> places_ GUARDED_BY(mutex_);  // by run
  std::uint32_t runs_ GUARDED_BY(mutex_) = 0;                                        // ever planned
  std::uint64_t planned_ GUARDED_BY(mutex_) = 0;  // the allocation at which a row was last planned
};

}  // namespace tessera
