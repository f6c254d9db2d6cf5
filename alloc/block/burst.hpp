// Decides which blocks above 1 MiB share pages (bundle.hpp).
//
// A block of 2.25 MiB with pages of its own occupies 4. But a run is evicted and dropped as a whole, and a plan
// refers to the runs that an iteration used. So temporary blocks keep runs of their own, which are then the
// same in each iteration; only permanent blocks should share. The caller does not declare them, but they are
// allocated in bursts: weights one after another, and at the first step the optimizer's states. Each is filled,
// nothing is freed, and no older block is used before the next allocation. In contrast, an activation is
// computed from the previous one, and gradients are allocated while activations are freed.
//
// Thread safety: all functions may be called from any thread. Threads that allocate concurrently end each
// other's bursts.
#pragma once

#include <array>
#include <cstdint>

#include "base/epoch.hpp"
#include "base/mutex.hpp"
#include "page/page_manager.hpp"

namespace tessera {

class Burst {
 public:
  // REQUIRES: `pages` outlives it.
  explicit Burst(PageManager& pages) : pages_(pages) {}

  // Called for each request above 1 MiB; returns whether it belongs to a burst. `epoch`: the last launch;
  // `frees`: count of all frees so far.
  bool ask(Epoch epoch, std::uint64_t frees);
  // The request was served from this run.
  void note_served(Address run);

 private:
  static constexpr std::uint32_t kFromThe = 4;  // the nth allocation of a series is the first in a burst

  bool is_used_since(Address run, Epoch epoch) const;

  PageManager& pages_;
  Mutex mutex_{LockRank::kBlock};
  Epoch epoch_ GUARDED_BY(mutex_);
  std::uint64_t frees_ GUARDED_BY(mutex_) = 0;
  std::uint32_t length_ GUARDED_BY(mutex_) = 0;
  std::array<Address, 3> runs_ GUARDED_BY(mutex_){};  // the distinct runs that served last, newest first
};

}  // namespace tessera
