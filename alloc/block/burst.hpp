// Which blocks above 1 MiB share pages (bundle.hpp).
//
// A block of 2.25 MiB in pages of its own holds 4. But a run moves, and is dropped, as a whole, and a plan is for the
// runs that an iteration used: blocks that come and go keep runs of their own, so that they are the same in each
// iteration. What may share is what stays. Nobody says what does, but it is made in bursts: weights one after
// another, then, with the first step, the optimizer's states; each is filled, and nothing is freed and no older one
// used before the next is asked for. An activation is made from the one before, and gradients while activations are freed.
//
// Thread safety: every call may be made from any thread. Threads that allocate at once end each other's bursts.
#pragma once

#include <array>
#include <cstdint>

#include "base/mutex.hpp"
#include "page/page_manager.hpp"

namespace tessera {

class Burst {
 public:
  // REQUIRES: `pages` outlives it.
  explicit Burst(PageManager& pages) : pages_(pages) {}

  // A block above 1 MiB is asked for: whether it belongs to a burst. `epoch`: the last launch; `frees`: of all blocks.
  bool ask(std::uint64_t epoch, std::uint64_t frees);
  // It was served from this run.
  void note_served(Address run);

 private:
  static constexpr std::uint32_t kFromThe = 4;  // block of a row on

  bool is_used_since(Address run, std::uint64_t epoch) const;

  PageManager& pages_;
  Mutex mutex_{LockRank::kBlock};
  std::uint64_t epoch_ GUARDED_BY(mutex_) = 0;
  std::uint64_t frees_ GUARDED_BY(mutex_) = 0;
  std::uint32_t length_ GUARDED_BY(mutex_) = 0;
  std::array<Address, 3> runs_ GUARDED_BY(mutex_){};  // that served last, the newest first, each once
};

}  // namespace tessera
