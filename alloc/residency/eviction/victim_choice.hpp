// Chooses which runs are evicted from the device: takes the policy's picture of those that may be, and asks the policy.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "policy/snapshot.hpp"
#include "residency/engine.hpp"
#include "residency/eviction/run_eviction.hpp"

namespace tessera {

class VictimChoice {
 public:
  using Which = RunEviction::Which;
  // kSettled: only runs that an unannounced kernel is no longer likely to use; the others if those do not suffice.
  enum class Recency : std::uint8_t { kSettled, kAny };

  VictimChoice(Engine& engine, const RunEviction& eviction) : engine_(engine), eviction_(eviction) {}

  // Of this many runs the picture costs more than the eviction of one: the policy names kShare of their bytes beyond
  // the need, to be evicted ahead of it, so that the picture is taken once for many shortages. What could be evicted is
  // a large part of the device's memory then, so hardly any of it is given up.
  static constexpr std::size_t kMany = 2048;
  static constexpr std::uint64_t kShare = 256;  // a fraction: 1 / kShare

  // The runs to evict, first to last. Pages of classes above `most` are not counted.
  Decision choose(Bytes need, Which which, Recency recency, PageClass most = PageClass::kLarge) {
    Snapshot snapshot = picture(need, which, recency, most);
    return decide(std::move(snapshot));
  }
  // The same for room that is needed now: with runs beyond the need, worth `ahead` bytes, where there are many to
  // choose from and no plan decides what leaves.
  struct Choice {
    Decision decision;
    Bytes ahead{};
  };
  Choice choose_many(Bytes need, Recency recency);
  // Slots of streams with work that did not end, at the last choice: what that work uses was not chosen.
  std::uint64_t stuck() const { return stuck_; }

 private:
  Snapshot picture(Bytes need, Which which, Recency recency, PageClass most);
  Decision decide(Snapshot snapshot);
  // How much of the run may be evicted, and how much of that has a valid copy or is dropped.
  void measure(const Run& run, Which which, PageClass most, bool drops, RunPicture& picture) const;
  bool is_held_up(const Run& run, std::uint64_t stuck) const;

  Engine& engine_;
  const RunEviction& eviction_;
  std::uint64_t stuck_ = 0;
  std::vector<RunPicture> pictures_;  // of the last choice: buffer reused by the next, which is as large
};

}  // namespace tessera
