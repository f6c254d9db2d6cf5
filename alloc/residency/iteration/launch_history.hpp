// The newest launches and what they used, and the iteration that the last of them form.
//
// A run of an iteration represents one life of a block: a block that is reallocated may have another address each time,
// and one address serves several blocks. So a run of the iteration begins with a fresh use and ends where its block was
// freed, which is noticed when the address is next used afresh.
//
// The duration of a launch is known once the device has executed it, which may be after the iteration is known. A
// launch like it (the same work on runs of the same sizes) took as long, so there is no need to wait. Work that uses no
// managed block is no launch here: it may come and go without breaking the iteration. Its time counts ahead of the next
// launch.
//
// Thread safety: none; its owner's lock.
//
// Bounds: trim() keeps kMostSteps launches and kMostMentions of runs, or twice as many launches while they are needed;
// as many pieces of other work are remembered, and beyond that none. duration_like() knows up to kMostSteps kinds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/epoch.hpp"
#include "planning/iteration.hpp"
#include "planning/moved_block.hpp"
#include "residency/iteration/launch_log.hpp"
#include "residency/iteration/launch_signature.hpp"

namespace tessera {

class LaunchHistory {
 public:
  static constexpr std::size_t kMostSteps = std::size_t{1} << 17;
  static constexpr std::size_t kMostMentions = std::size_t{1} << 21;
  static constexpr std::size_t kMostRounds = 1024;

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
  // Reads and releases the stopwatches of launches that are over.
  void read_watches();
  // The device has not executed all timed launches yet.
  bool is_timing() const { return unread_ < steps_.size(); }
  std::size_t size() const { return steps_.size(); }
  // Signatures of the last `launches` launches, or of all there are.
  std::vector<std::uint64_t> last_signatures(std::size_t launches) const;
  // The number of the next launch, counting all launches ever.
  std::uint64_t next() const { return dropped_ + steps_.size(); }
  void drop_oldest(std::size_t steps);
  // Above the bounds drops the older half; launches from number `needed` on are kept if possible.
  void trim(std::uint64_t needed);
  // The last `period` launches as an iteration, without durations. The `alike` launches before them repeated the
  // iteration too. REQUIRES: size() >= period.
  Iteration iteration(std::size_t period, std::size_t alike) const;
  // Given that the last `period` launches repeat by signature: the number of launches after which they use the same
  // memory again, apart from blocks that are reallocated. A loop over the layers of a model uses other weights in each
  // round. 0 = more than kMostRounds rounds, or more launches than are known. One round suffices only if the memory was
  // the same for `sure` launches: a sweep over many blocks that turns round uses one of them twice. REQUIRES: size() >=
  // period.
  std::size_t same_memory_after(std::size_t period, std::size_t sure = 0) const;
  // How long the program took for the last `period` launches. REQUIRES: size() >= period.
  Nanoseconds took(std::size_t period) const;
  // For each run of that iteration its last use. REQUIRES: nothing was remembered since.
  struct LastSeen {
    std::uint64_t run = 0;  // by name
    Epoch epoch{};
  };
  std::vector<LastSeen> last_seen(const Iteration& iteration) const;
  // For `period` launches from number `first` on: the launch's own time, else that of the same place an iteration
  // earlier, or one or two later, else the mean of launches like it; 0 where none is known yet.
  std::vector<Nanoseconds> durations(std::uint64_t first, std::size_t period) const;
  // Of the last such launch that was timed, else of the last with this work; 0 = none was.
  Nanoseconds duration_like(const void* work, std::uint64_t signature) const;
  // For the same launches the time of other work ahead of each on its stream, by IterationStep::before.
  std::vector<Nanoseconds> other_times(std::uint64_t first, std::size_t period) const;

 private:
  struct Step {
    const void* work = nullptr;
    Epoch epoch{};
    std::uint64_t signature = 0;
    std::uint32_t first = 0;  // into mentions_
    std::uint32_t parts = 0;  // of which this many a plan may move,
    std::uint32_t small = 0;  // followed by this many that none moves
    StreamId stream;
    Nanoseconds read_at{};
    std::optional<Stopwatches::Watch> watch;  // not read yet
    Nanoseconds duration{};                   // 0 = not known
  };
  // Work without managed blocks.
  struct Other {
    std::uint64_t launch = 0;  // the next, counting all launches ever
    StreamId stream;
    std::optional<Stopwatches::Watch> watch;  // not read yet
    Nanoseconds duration{};
  };
  // The record of a use; the run itself may have been removed.
  struct Mention {
    std::uint64_t run = 0;  // by name
    Bytes bytes;
    TagId tag;
    bool pinned = false, writes = false, fresh = false;
    Nanoseconds recomputed_in{};  // 0 = not recomputed, as far as this use shows
    Epoch freed{};                // if fresh: the epoch in which the block before was freed; never = unknown

    RunRole role() const { return role_of(bytes, tag, writes, run); }
  };
  // The latest use noted of a run.
  struct LastUse {
    std::uint32_t use = 0;  // into the uses of an iteration
    std::size_t step = 0;   // into steps_
  };
  using LastUses = std::unordered_map<std::uint64_t, LastUse>;  // by name

  std::span<const Mention> parts_of(const Step& step) const {
    return std::span(mentions_).subspan(step.first, step.parts);
  }
  std::span<const Mention> small_of(const Step& step) const {
    return std::span(mentions_).subspan(step.first + step.parts, step.small);
  }
  std::span<const Mention> mentions_of(const Step& step) const {
    return std::span(mentions_).subspan(step.first, step.parts + step.small);
  }
  bool uses_known_memory(std::size_t period, std::size_t launches) const;
  bool uses_equal_memory(std::size_t step, std::size_t before) const;
  // Numbers the uses from `use` on.
  LastUses last_uses(std::size_t begin, std::size_t end, std::uint32_t use = 0) const;
  std::uint32_t parts_in(std::size_t begin, std::size_t end) const;
  void add_small_runs(std::size_t begin, Iteration& iteration) const;
  std::uint32_t steps_until(Epoch freed, std::size_t step) const;
  std::unordered_map<std::uint64_t, Nanoseconds> mean_durations() const;  // by signature

  Stopwatches& watches_;
  std::vector<Step> steps_;  // oldest first
  std::vector<Mention> mentions_;
  std::vector<Other> others_;      // oldest first
  std::size_t unread_others_ = 0;  // none before it has a watch
  // Runs in the last rewrite() that did not exist yet, by name: when a block of theirs was last freed.
  std::unordered_map<std::uint64_t, Epoch> freed_;
  std::unordered_map<std::uint64_t, Nanoseconds> newest_;  // duration by signature,
  std::unordered_map<const void*, Nanoseconds> by_work_;   // and by work
  std::uint64_t dropped_ = 0;                              // steps, ever
  std::size_t unread_ = 0;                                 // no step before it has a watch
};

}  // namespace tessera
