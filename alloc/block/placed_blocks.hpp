// Which blocks of a repeated iteration share a run, and whose turn it is.
//
// Once a program has gone through a row of allocations and begins it again (learn/allocation_row.hpp), a plan says which
// of its blocks share runs (plan/shared_runs.hpp). Each allocation that keeps to the row is told its place; the first one
// that does not ends that, until it is known again where in a row the program is. So blocks are never placed on a guess,
// and each time through the row has the same runs, which a plan of who leaves them needs.
//
// Allocations are noted from the first on, so that a first iteration in which memory gets short is known; of a
// program with ample memory no more than AllocationLog::kMost. Nothing is placed while memory is not short.
//
// Thread safety: every call may be made from any thread. Threads that allocate at once keep to no row.
//
// Bounds: kMostRows rows are known; of more the one goes that was followed longest ago.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "learn/allocation_row.hpp"
#include "learn/moved_block.hpp"
#include "learn/period_place.hpp"
#include "residency/residency.hpp"

namespace tessera {

// A place in a run that blocks share by plan.
struct Spot {
  std::uint32_t run = 0;  // of all such runs ever planned
  std::uint32_t place = 0;
};

class PlacedBlocks {
 public:
  static constexpr std::size_t kMostRows = 4;

  // A run that blocks share has at most `limit` bytes, and what `spare` says when it is planned: a launch may use
  // blocks of many. With a limit of 0 none do.
  PlacedBlocks(Bytes limit, std::function<Bytes()> spare) : limit_(limit), spare_(std::move(spare)) {}

  // Whether ask() is to be told of the next block above kSlotLimit.
  bool listens(const Residency& residency) const {
    return limit_ && (!is_over_.load(std::memory_order_relaxed) || residency.is_short());
  }

  struct Asked {
    std::uint64_t number = 0;
    Bytes bytes;
    std::optional<Spot> spot;
    std::vector<MovedBlock> moved;  // where blocks are placed from now on: earlier ones, in the order in which they were made
  };
  // A block is asked for, by a stream's key and a tag.
  Asked ask(Bytes bytes, StreamId stream, TagId tag, bool is_short);
  // It stays there, or none was to be had.
  void note_served(const Asked& asked, const std::optional<AllocationLog::Stay>& stay);
  // `is_alone`: it could not have shared a run. Launches from this epoch on do not use it.
  void note_freed(Address address, bool is_alone, std::uint64_t epoch);

  // The bytes of all places of a run that a spot is in; none where its row is not known any more.
  std::vector<Bytes> places_of(std::uint32_t run) const;

 private:
  struct Row {
    PeriodPlace place;
    std::vector<std::optional<Spot>> spots;  // by place in the row
    std::uint32_t first_run, end_run;
    std::uint64_t followed;  // the last allocation that kept to it
    bool places = false;     // blocks are placed by it, or have been
  };

  Row* followed() REQUIRES_LOCK(mutex_);
  std::vector<MovedBlock> moved_by(const Row& row) const REQUIRES_LOCK(mutex_);
  // Plans no row before half as many allocations have followed the last one that was planned.
  Row* learn(std::uint64_t number) REQUIRES_LOCK(mutex_);
  void make_place() REQUIRES_LOCK(mutex_);

  const Bytes limit_;
  const std::function<Bytes()> spare_;
  std::atomic<bool> is_over_{false};  // the program has gone on for long and has ample memory
  mutable Mutex mutex_{LockRank::kBlock};
  AllocationLog log_ GUARDED_BY(mutex_);
  std::vector<Row> rows_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint32_t, std::vector<Bytes>> places_ GUARDED_BY(mutex_);  // by run
  std::uint32_t runs_ GUARDED_BY(mutex_) = 0;     // ever
  std::uint64_t planned_ GUARDED_BY(mutex_) = 0;  // the allocation at which a row was, last
};

}  // namespace tessera
