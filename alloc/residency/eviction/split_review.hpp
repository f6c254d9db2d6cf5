// Decides anew which pages of partial blocks are on the device, as launches name some parts of them more often than
// others (planning/partial_split.hpp), and exchanges pages for it.
//
// The addresses of launches are counted while there are partial blocks, and no others are. A review that finds nothing
// to exchange moves nothing and waits for nothing, and the next comes later. One that does waits for all work once, as
// pages change over while no work runs, and exchanges some of them; the next one continues. What has been exchanged as
// a whole once has to pay more the next time, so that a program with changing habits does not move pages for good.
//
// Thread safety: none; the engine's lock. `watches` and `is_due` are read by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "residency/engine.hpp"
#include "residency/eviction/partial_runs.hpp"
#include "residency/pages/named_starts.hpp"

namespace tessera {

class SplitReview {
 public:
  // Addresses in partial blocks that launches name between two reviews: at first, and at most.
  static constexpr std::uint32_t kLeastNames = 256, kMostNames = 1 << 14;
  // An exchange pays if this many more namings were counted. It costs two pages over the link, which each of them
  // would.
  static constexpr std::uint64_t kLeastGain = 8, kMostGain = 1 << 20;

  // REQUIRES: all of it outlives this.
  SplitReview(Engine& engine, PartialRuns& partial, std::atomic<bool>& watches, std::atomic<bool>& is_due)
      : engine_(engine), partial_(partial), watches_(watches), is_due_(is_due) {}

  // More of some blocks is used in host memory: what launches name of partial blocks is counted from now on.
  void watch();
  // Exchanges pages if that pays. Returns the block that gained most; null: nothing has changed. Waits for all work
  // then; where that is not possible now, nothing changes. Errors: the driver's.
  Result<Run*> revise();

 private:
  struct Split {
    std::vector<Run*> blocks;
    std::vector<SplitPage> pages;
    std::vector<PageRef> refs;  // as `pages`
  };
  std::vector<Run*> partial_blocks() const;
  Split split_of(std::span<Run* const> blocks) const;
  void expect_next(std::span<Run* const> blocks, std::uint32_t names);
  void age(const Split& split);
  void note_exchanged(const Split& split, Bytes bytes);

  Engine& engine_;
  PartialRuns& partial_;
  std::atomic<bool>& watches_;
  std::atomic<bool>& is_due_;
  std::uint32_t names_ = kLeastNames;
  std::uint64_t least_gain_ = kLeastGain;
  Bytes exchanged_;  // since the gain that is asked for was raised
};

}  // namespace tessera
