// The newest launches and what they used, and the iteration that the last of them are.
//
// What a run is to an iteration are its lives: a block that is made anew may lie at another address
// each time, and one address serves several blocks. So a run of the iteration begins with a fresh
// use, and ends where its block was freed, which shows when its address is used afresh.
//
// How long a launch took is known when the device has come to it, which may be after the iteration
// is known. What was like it (the same work on runs of the same sizes) took as long, so nobody has
// to wait for it.
//
// Thread safety: none; its owner's lock.
//
// Bounds: trim() keeps to kMostSteps launches and kMostMentions of runs, or twice as many launches
// while they are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "learn/iteration.hpp"
#include "learn/moved_block.hpp"
#include "residency/launch_log.hpp"
#include "residency/launch_signature.hpp"

namespace tessera {

class LaunchHistory {
 public:
  static constexpr std::size_t kMostSteps = std::size_t{1} << 17;
  static constexpr std::size_t kMostMentions = std::size_t{1} << 21;
  static constexpr std::size_t kMostRounds = 1024;

  // REQUIRES: `watches` outlives it.
  explicit LaunchHistory(Stopwatches& watches) : watches_(watches) {}

  // The first `parts` of the uses are of runs that a plan may move; it is read now. REQUIRES: uses in the order of their
  // roles, whose parts have that signature (launch_signature.hpp).
  void remember(const LaunchLog::Launch& launch, std::uint64_t signature,
                std::span<const LaunchLog::Use> uses, std::size_t parts, Nanoseconds now);
  // These blocks shared runs all along, as far as it is known from here on. REQUIRES: at least one, in the order in which
  // they were made.
  void rewrite(std::span<const MovedBlock> moved);
  // Looks who is over, and gives their watches back.
  void read_watches();
  // The device has not come to all launches that were timed.
  bool is_timing() const { return unread_ < steps_.size(); }
  std::size_t size() const { return steps_.size(); }
  // Of the last so many, or of all there are.
  std::vector<std::uint64_t> last_signatures(std::size_t launches) const;
  // Of all launches ever, the number of the next one.
  std::uint64_t next() const { return dropped_ + steps_.size(); }
  void drop_oldest(std::size_t steps);
  // Of too many launches the older half goes; from number `needed` on they stay if they can.
  void trim(std::uint64_t needed);
  // The last so many launches as an iteration, without durations; as many as are `alike` before them were the same as the
  // last of them. REQUIRES: there are so many.
  Iteration iteration(std::size_t period, std::size_t alike) const;
  // So many launches repeat, by signature: after how many they use the same memory again, but for blocks made anew. A loop
  // over the layers of a model has other weights in each round. 0 = after more than kMostRounds, or more than are known.
  // REQUIRES: likewise.
  std::size_t same_memory_after(std::size_t period) const;
  // How long the program took for it. REQUIRES: likewise.
  Nanoseconds took(std::size_t period) const;
  // For each run of that iteration, the last use it has had. REQUIRES: nothing was remembered
  // since.
  struct LastSeen {
    std::uint64_t run = 0;  // by name
    std::uint64_t epoch = 0;
  };
  std::vector<LastSeen> last_seen(const Iteration& iteration) const;
  // Of so many launches from number `first` on: of each its own time, or of the same place an
  // iteration earlier, or one or two later, or what those like it took in the mean; 0 where none is known yet.
  std::vector<Nanoseconds> durations(std::uint64_t first, std::size_t period) const;

 private:
  struct Step {
    const void* work = nullptr;
    std::uint64_t epoch = 0;
    std::uint64_t signature = 0;
    std::uint32_t first = 0;  // into mentions_
    std::uint32_t parts = 0;  // so many that a plan may move,
    std::uint32_t small = 0;  // and behind them so many that none does
    StreamId stream;
    Nanoseconds read_at{};
    std::optional<Stopwatches::Watch> watch;  // not read yet
    Nanoseconds duration{};                   // 0 = not known
  };
  // What is kept of a use; the run itself may be gone.
  struct Mention {
    std::uint64_t run = 0;  // by name
    Bytes bytes;
    TagId tag;
    bool pinned = false, writes = false, fresh = false;
    Nanoseconds remade_in{};  // 0 = not, as far as this use knows
    std::uint64_t freed =
        0;  // if fresh: the epoch in which the block before was freed; 0 = unknown

    RunRole role() const { return role_of(bytes, tag, writes, run); }
  };
  // The use of a run that was noted last.
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
  bool uses_known_memory(std::size_t period) const;
  bool uses_equal_memory(std::size_t step, std::size_t before) const;
  // Their uses are counted from `use` on.
  LastUses last_uses(std::size_t begin, std::size_t end, std::uint32_t use = 0) const;
  std::uint32_t parts_in(std::size_t begin, std::size_t end) const;
  void add_small_runs(std::size_t begin, Iteration& iteration) const;
  std::uint32_t steps_until(std::uint64_t freed, std::size_t step) const;
  std::unordered_map<std::uint64_t, Nanoseconds> mean_durations() const;  // by signature

  Stopwatches& watches_;
  std::vector<Step> steps_;  // oldest first
  std::vector<Mention> mentions_;
  // Runs that the last rewrite() told of and that were not there yet: when a block of theirs was freed last, by name.
  std::unordered_map<std::uint64_t, std::uint64_t> freed_;
  std::uint64_t dropped_ = 0;  // steps, ever
  std::size_t unread_ = 0;     // no step before it has a watch
};

}  // namespace tessera
