// Launches in the order in which they were announced, for the learner to read later.
//
// A launch pays one lock that is rarely contended and a copy of its list; all thinking is the
// reader's. While it is off, a launch pays one load. The reader may say which of the launches to come
// shall not wait for his next look.
//
// Thread safety: every call may be made from any thread.
//
// Bounds: kMaxLaunches wait to be read, which use kMaxUses runs together, and as many writes that were noted later; what
// comes behind is lost, and the batch says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.hpp"
#include "residency/run.hpp"
#include "residency/stopwatches.hpp"

namespace tessera {

class LaunchLog {
 public:
  static constexpr std::size_t kMaxLaunches = std::size_t{1} << 16;
  static constexpr std::size_t kMaxUses = std::size_t{1} << 20;

  struct Use {
    Run* run = nullptr;
    bool writes = false;
    bool fresh = false;  // the first use since the run was allocated
    Nanoseconds remade_in{};  // its callback's cost; 0 = it has none
    std::uint64_t freed = 0;  // if fresh: the epoch in which a block before was freed; 0 = none was
  };
  struct Launch {
    const void* work = nullptr;
    std::uint64_t epoch = 0;
    std::uint32_t uses = 0;  // of Batch::uses, in order
    std::optional<Stopwatches::Watch> watch{};
    StreamId stream{};
  };
  struct Batch {
    std::vector<Launch> launches;
    std::vector<Use> uses;
    std::vector<std::pair<std::uint64_t, Run*>> writes;  // noted after their launch, by its epoch
    bool lost = false;                                   // launches are missing at the end
  };

  void switch_on() { switch_on_for(0); }
  // For so many launches; 0 = for good.
  void switch_on_for(std::size_t launches);
  void switch_off() { on_.store(false, std::memory_order_relaxed); }
  // As many launches wait to be read as are worth a look: one, unless it is told otherwise.
  bool has_news() const { return news_.load(std::memory_order_relaxed); }
  void look_from(std::size_t launches);
  // The launch that was asked for by call_at has been noted.
  bool calls() const { return calls_.load(std::memory_order_relaxed); }
  bool is_on() const { return on_.load(std::memory_order_relaxed); }

  void note(const void* work, std::span<Run* const> runs, std::uint64_t epoch, bool writes,
            std::optional<Stopwatches::Watch> watch, StreamId stream);
  // The launch of this epoch, announced as one that reads, writes the run.
  void note_write(Run& run, std::uint64_t epoch);
  // All that was noted since the last call. `batch` is reused. Nobody calls any more.
  void take(Batch& batch);
  // The so many-th launch since the last take calls for a reader; 0 = none does.
  void call_at(std::size_t launches);

 private:
  std::atomic<bool> on_{false};
  std::atomic<bool> news_{false};
  std::atomic<bool> calls_{false};
  Mutex mutex_{LockRank::kStreams};
  Batch noted_ GUARDED_BY(mutex_);
  std::size_t call_at_ GUARDED_BY(mutex_) = 0;
  std::size_t look_from_ GUARDED_BY(mutex_) = 1;
  std::size_t left_ GUARDED_BY(mutex_) = 0;  // launches until it is off; 0 = never
};

}  // namespace tessera
