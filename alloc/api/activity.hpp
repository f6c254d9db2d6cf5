// Whether the program uses its blocks: since when it has not, and whether they have been put to sleep since.
//
// Nothing is noted on the path of a launch: the counts of uses that exist anyway are compared with what they were
// at the last look, so a time is as exact as the looks are frequent.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "api/device_heaps.hpp"
#include "base/clock.hpp"
#include "base/mutex.hpp"

namespace tessera {

class Activity {
 public:
  struct Report {
    Nanoseconds idle;          // since the last launch, copy, allocation or free
    bool asleep = false;       // all blocks were put to sleep, and none was used since
    std::uint64_t sleeps = 0;  // of all blocks because the program was idle
  };

  // REQUIRES: both outlive it.
  Activity(const DeviceHeaps& heaps, const Clock& clock) : heaps_(heaps), clock_(clock), used_(clock.now()) {}

  Report look();
  // Launches, copies and other uses that name blocks, so far. Takes no lock.
  std::uint64_t uses() const;

  struct Counts {
    std::uint64_t uses = 0;
    std::uint64_t allocations = 0;
    std::uint64_t epochs = 0;  // these rise with unnamed work and frees as well
    bool operator==(const Counts&) const = default;
  };
  Counts counts() const;
  // All blocks were put to sleep; `before`: counts() when that began.
  void note_asleep(const Counts& before);
  // The same, because the program was idle.
  void note_idle_sleep(const Counts& before);
  // Some of them were fetched back. `all_there`: nothing is away any more, or all were asked for.
  void note_awake(bool all_there);

 private:
  void follow(const Counts& now) REQUIRES_LOCK(mutex_);

  const DeviceHeaps& heaps_;
  const Clock& clock_;
  mutable Mutex mutex_{LockRank::kOutputs};
  Counts seen_ GUARDED_BY(mutex_);
  Nanoseconds used_ GUARDED_BY(mutex_);  // when seen_ changed
  bool asleep_ GUARDED_BY(mutex_) = false;
  std::uint64_t sleeps_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
