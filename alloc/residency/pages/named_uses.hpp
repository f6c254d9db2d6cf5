// Whether launches name a run in the life of its block, which says that kernels are given its address.
//
// A launch stamps the run with its epoch and with the distance to the use before it (launch_line.hpp), and does nothing
// more for this. Other uses stamp it too and say nothing about kernels: copies and sets, words that may be no
// addresses, launches that may only write the address down. They note here that theirs was the last use, and whether
// the one before it was a launch.
//
// Thread safety: every call may be made from any thread. Where uses of one run are noted at the same time, a launch
// among them may be missed; none is made up.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/atomic_max.hpp"
#include "base/epoch.hpp"

namespace tessera {

// The stamps of a run: its last use, the ticks from the one before it to that (0: there is none), and the end of the
// last block in it: earlier uses were that block's.
struct UseStamps {
  Epoch used;
  std::uint64_t gap = 0;
  Epoch freed;
};

class NamedUses {
 public:
  // The last use that was stamped is no evidence. `now`: the stamps after it.
  void note_other(const UseStamps& now) {
    const Epoch before = now.gap == 0 ? Epoch() : Epoch(now.used.value() - now.gap);
    const Epoch other = raise_to(other_, now.used);
    if (before > other && before >= now.freed) raise_to(launched_, before);
  }
  // The block has ended, without a stamp that shows it. `used`: the last use.
  void note_end(Epoch used) {
    raise_to(other_, used);
    raise_to(ended_, used);
    launched_.store(Epoch());
  }
  // The last use that is known to be no evidence.
  Epoch other() const { return other_.load(); }
  // The last use before an end that was noted so.
  Epoch ended() const { return ended_.load(); }
  // In the life of the block that is there now.
  bool any(const UseStamps& now) const {
    const Epoch launched = launched_.load();
    return (now.used > other_.load() && now.used >= now.freed) || (!launched.is_never() && launched >= now.freed);
  }

 private:
  std::atomic<Epoch> other_{};     // the last use that was no evidence
  std::atomic<Epoch> launched_{};  // a launch before that
  std::atomic<Epoch> ended_{};     // the last use by a block that has ended
};

}  // namespace tessera
