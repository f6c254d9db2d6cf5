// Launches in the order in which they were announced, to be read later by the learner.
//
// A launch pays one rarely contended lock and a copy of its list; all analysis is left to the reader. While the log is
// off, a launch pays one load. The reader can name a coming launch that is not to wait for the next read.
//
// Thread safety: every call may be made from any thread.
//
// Bounds: at most kMaxLaunches unread launches, using kMaxUses runs together, as many writes that were noted later, and
// kMaxLaunches timed pieces of other work.
// Anything beyond is lost, and the batch reports it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/epoch.hpp"
#include "base/mutex.hpp"
#include "residency/pages/run.hpp"
#include "residency/streams/stopwatches.hpp"

namespace tessera {

class LaunchLog {
 public:
  static constexpr std::size_t kMaxLaunches = std::size_t{1} << 16;
  static constexpr std::size_t kMostOthers = 24;  // after a launch
  static constexpr std::size_t kMaxUses = std::size_t{1} << 20;

  struct Use {
    Run* run = nullptr;
    bool writes = false;
    bool fresh = false;           // the first use since the run was allocated
    Nanoseconds recomputed_in{};  // cost of its callback; 0 = it has none
    Epoch freed{};                // if fresh: the epoch in which the block before was freed; never = there was none
    std::uint64_t freed_at = 0;   // ... and the number of the last launch before that; 0 = not known
    bool copies = false;          // a copy or set: no kernel is given its address
  };
  struct Launch {
    const void* work = nullptr;
    Epoch epoch{};
    std::uint32_t uses = 0;  // of Batch::uses, in order
    std::optional<Stopwatches::Watch> watch{};
    StreamId stream{};
    std::uint64_t number = 0;  // in the order of all that were ever logged, from 1
  };
  // Timed work that uses no managed block.
  struct OtherWork {
    std::size_t before = 0;  // launches of the batch that were logged earlier
    Stopwatches::Watch watch{};
    StreamId stream{};
  };
  struct Batch {
    std::vector<Launch> launches;
    std::vector<Use> uses;
    std::vector<OtherWork> others;
    std::vector<std::pair<Epoch, Run*>> writes;  // noted after their launch, by its epoch
    bool lost = false;                           // launches are missing at the end
  };

  void switch_on() { switch_on_for(0); }
  // Switches it on for this many launches; 0 = until switched off.
  void switch_on_for(std::size_t launches);
  void switch_off() { on_.store(false, std::memory_order_relaxed); }
  // Enough launches are unread for a read to be worthwhile: one, unless look_from() set another number.
  bool has_news() const { return news_.load(std::memory_order_relaxed); }
  void look_from(std::size_t launches);
  // The launch requested by call_at() has been logged.
  bool calls() const { return calls_.load(std::memory_order_relaxed); }
  bool is_on() const { return on_.load(std::memory_order_relaxed); }
  // The number of the last launch that was logged.
  std::uint64_t last() const { return last_.load(std::memory_order_relaxed); }

  void note(const void* work, std::span<Run* const> runs, Epoch epoch, bool writes,
            std::optional<Stopwatches::Watch> watch, StreamId stream, bool copies = false);
  // Whether another piece of such work may be timed: at most kMostOthers after each launch. A watch takes two places of
  // the stream's queue, which a program may fill before it does what the queued kernels wait for.
  bool takes_other();
  // False: the log is full, and the watch is the caller's again.
  bool note_other(Stopwatches::Watch watch, StreamId stream);
  // The launch of this epoch was announced as reading only, but also writes the run.
  void note_write(Run& run, Epoch epoch);
  // Takes everything logged since the last call. `batch` is reused. Resets calls().
  void take(Batch& batch);
  // calls() becomes true with the `launches`-th launch after the last take; 0 = never.
  void call_at(std::size_t launches);

 private:
  std::atomic<bool> on_{false};
  std::atomic<bool> news_{false};
  std::atomic<bool> calls_{false};
  std::atomic<std::uint64_t> last_{0};  // written with the lock
  Mutex mutex_{LockRank::kStreams};
  Batch noted_ GUARDED_BY(mutex_);
  std::size_t call_at_ GUARDED_BY(mutex_) = 0;
  std::size_t look_from_ GUARDED_BY(mutex_) = 1;
  std::size_t left_ GUARDED_BY(mutex_) = 0;  // launches until it is off; 0 = never
};

}  // namespace tessera
