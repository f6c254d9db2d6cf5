// The newest launches, what they used and how long they took.
//
// The duration of a launch is known once the device has executed it, which may be after the iteration is known. A
// launch like it (the same work on runs of the same sizes) took as long, so there is no need to wait. Work that uses no
// managed block is no launch here: it may come and go without breaking the iteration. Its time counts ahead of the next
// launch.
//
// Thread safety: none; its owner's lock.
//
// Bounds: trim() keeps kMostSteps launches and kMostUses of runs, or twice as many launches while they are needed;
// as many pieces of other work are remembered, and beyond that none; and one free of each run in them.
// duration_like() knows up to kMostSteps kinds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/epoch.hpp"
#include "planning/moved_block.hpp"
#include "residency/iteration/launch_log.hpp"
#include "residency/iteration/launch_record.hpp"

namespace tessera {

class LaunchHistory {
 public:
  static constexpr std::size_t kMostSteps = std::size_t{1} << 17;
  static constexpr std::size_t kMostUses = std::size_t{1} << 21;

  // REQUIRES: `watches` outlives it.
  explicit LaunchHistory(Stopwatches& watches) : watches_(watches) {}

  // The first `parts` of the uses are of runs that a plan may move; `now` is when the launch is read. REQUIRES: uses in
  // the order of their roles, the parts of which have that signature (launch_signature.hpp).
  void remember(const LaunchLog::Launch& launch, std::uint64_t signature, std::span<const LaunchLog::Use> uses,
                std::size_t parts, Nanoseconds now);
  // Work that uses no managed block was timed ahead of the next launch.
  void remember_other(const LaunchLog::OtherWork& other);
  // Rewrites the history as if these blocks had always shared runs. REQUIRES: at least one, in allocation order.
  void rewrite(std::span<const MovedBlock> moved);
  // The run is about to be removed, or idle: its last block was freed. Nothing else would say so: another run serves
  // the next block.
  void note_freed(const Run& run);
  // Reads and releases the stopwatches of launches that are over.
  void read_watches();
  // The device has not executed all timed launches yet.
  bool is_timing() const { return unread_ < record_.launches.size(); }
  std::size_t size() const { return record_.launches.size(); }
  // Signatures of the last `launches` launches, or of all there are.
  std::vector<std::uint64_t> last_signatures(std::size_t launches) const;
  // The number of the next launch, counting all launches ever.
  std::uint64_t next() const { return dropped_ + record_.launches.size(); }
  void drop_oldest(std::size_t steps);
  // Above the bounds drops the older half; launches from number `needed` on are kept if possible.
  void trim(std::uint64_t needed);
  // What recorded_iteration.hpp reads.
  const LaunchRecord& record() const { return record_; }
  // How long the program took for the last `period` launches. REQUIRES: size() >= period.
  Nanoseconds took(std::size_t period) const;
  // For `period` launches from number `first` on: the launch's own time, else that of the same place an iteration
  // earlier, or one or two later, else the mean of launches like it; 0 where none is known yet.
  std::vector<Nanoseconds> durations(std::uint64_t first, std::size_t period) const;
  // Of the last such launch that was timed, else of the last with this work; 0 = none was.
  Nanoseconds duration_like(const void* work, std::uint64_t signature) const;
  // For the same launches the time of other work ahead of each on its stream, by IterationStep::before.
  std::vector<Nanoseconds> other_times(std::uint64_t first, std::size_t period) const;

 private:
  // Work without managed blocks.
  struct Other {
    std::uint64_t launch = 0;  // the next, counting all launches ever
    StreamId stream;
    std::optional<Stopwatches::Watch> watch;  // not read yet
    Nanoseconds duration{};
  };

  std::unordered_map<std::uint64_t, Nanoseconds> mean_durations() const;  // by signature

  Stopwatches& watches_;
  LaunchRecord record_;
  std::vector<Other> others_;                              // oldest first
  std::size_t unread_others_ = 0;                          // none before it has a watch
  std::unordered_map<std::uint64_t, Nanoseconds> newest_;  // duration by signature,
  std::unordered_map<const void*, Nanoseconds> by_work_;   // and by work
  std::uint64_t dropped_ = 0;                              // steps, ever
  std::size_t unread_ = 0;                                 // no step before it has a watch
};

}  // namespace tessera
