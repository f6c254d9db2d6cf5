// The newest launches and what they used, and the iteration that the last of them are.
//
// What a run is to an iteration are its lives: a block that is made anew may lie at another address each
// time, and one address serves several blocks. So a run of the iteration begins with a fresh use, and ends
// where its block was freed, which shows when its address is used afresh.
//
// Thread safety: none; its owner's lock.
//
// Bounds: whoever remembers launches drops the oldest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "learn/iteration.hpp"
#include "residency/launch_log.hpp"

namespace tessera {

class LaunchHistory {
 public:
  struct Step {
    std::uint64_t epoch = 0;
    std::uint32_t first = 0;  // into mentions_
    std::uint32_t parts = 0;  // so many that a plan may move,
    std::uint32_t small = 0;  // and behind them so many that none does
    std::optional<Stopwatches::Watch> watch;
  };

  // The first `parts` of the uses are of runs that a plan may move.
  void remember(std::uint64_t epoch, std::span<const LaunchLog::Use> uses, std::size_t parts);
  // Oldest first. Watches are the owner's.
  std::span<Step> steps() { return steps_; }
  void drop_oldest(std::size_t steps);
  // The last so many launches as an iteration, without durations. REQUIRES: there are so many.
  Iteration iteration(std::size_t period) const;

 private:
  // What is kept of a use; the run itself may be gone.
  struct Mention {
    Address address;
    Bytes bytes;
    TagId tag;
    bool pinned = false, writes = false, fresh = false;
    Nanoseconds remade_in{};  // 0 = not, as far as this use knows
    std::uint64_t freed = 0;  // if fresh: the epoch in which the block before was freed; 0 = unknown
  };
  // The use of an address that was noted last.
  struct LastUse {
    std::uint32_t use = 0;  // into the uses of an iteration
    std::size_t step = 0;   // into steps_
  };
  using LastUses = std::unordered_map<std::uint64_t, LastUse>;  // by address

  std::span<const Mention> parts_of(const Step& step) const {
    return std::span(mentions_).subspan(step.first, step.parts);
  }
  LastUses last_uses(std::size_t begin, std::size_t end) const;
  void add_small_runs(std::size_t begin, Iteration& iteration) const;
  std::uint32_t steps_until(std::uint64_t freed, std::size_t step) const;

  std::vector<Step> steps_;
  std::vector<Mention> mentions_;
};

}  // namespace tessera
