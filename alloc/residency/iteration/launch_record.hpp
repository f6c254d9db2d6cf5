// Launches and what they used, as values: what a history keeps of each.
//
// Thread safety: none; its owner's lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/epoch.hpp"
#include "base/units.hpp"
#include "residency/iteration/launch_signature.hpp"
#include "residency/streams/stopwatches.hpp"

namespace tessera {

// The record of a use; the run itself may have been removed.
struct RecordedUse {
  std::uint64_t run = 0;  // by name
  Bytes bytes;
  TagId tag;
  bool pinned = false, writes = false, fresh = false;
  Nanoseconds recomputed_in{};  // 0 = not recomputed, as far as this use shows
  std::uint64_t freed_at = 0;   // if fresh: the last launch before the block before was freed; 0 = unknown

  RunRole role() const { return role_of(bytes, tag, writes, run); }
};

struct RecordedLaunch {
  const void* work = nullptr;
  Epoch epoch{};
  std::uint64_t number = 0;  // LaunchLog::Launch::number
  std::uint64_t signature = 0;
  std::uint32_t first = 0;  // into LaunchRecord::uses
  std::uint32_t parts = 0;  // of which this many a plan may move,
  std::uint32_t small = 0;  // followed by this many that none moves
  StreamId stream;
  Nanoseconds read_at{};
  std::optional<Stopwatches::Watch> watch;  // not read yet
  Nanoseconds duration{};                   // 0 = not known
};

struct LaunchRecord {
  std::vector<RecordedLaunch> launches;  // oldest first
  std::vector<RecordedUse> uses;         // in the order of their launches
  // By name: the last launch before the last block of a run was freed, as far as no later use says that.
  std::unordered_map<std::uint64_t, std::uint64_t> freed_at;

  // The number of the last launch before this epoch; 0 = it is not in the record.
  std::uint64_t last_before(Epoch epoch) const {
    const auto behind = std::ranges::lower_bound(launches, epoch, {}, &RecordedLaunch::epoch);
    return behind == launches.begin() ? 0 : std::prev(behind)->number;
  }
  std::span<const RecordedUse> parts_of(const RecordedLaunch& launch) const {
    return std::span(uses).subspan(launch.first, launch.parts);
  }
  std::span<const RecordedUse> small_of(const RecordedLaunch& launch) const {
    return std::span(uses).subspan(launch.first + launch.parts, launch.small);
  }
  std::span<const RecordedUse> uses_of(const RecordedLaunch& launch) const {
    return std::span(uses).subspan(launch.first, launch.parts + launch.small);
  }
};

}  // namespace tessera
