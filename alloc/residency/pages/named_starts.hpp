// Where in a partial block the addresses point that launches name, and how often each: evidence of which part is hot
// (planning/partial_split.hpp).
//
// A table of a fixed size, which launches write without a lock. What it counts decides where pages are, never whether
// an access is right, so a count that is lost does no harm. An address that comes when it is full is not counted; the
// next review begins anew then.
//
// Thread safety: note() by any thread, at any time; the other calls by one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planning/partial_split.hpp"
#include "residency/pages/extents.hpp"

namespace tessera {

class NamedStarts {
 public:
  static constexpr std::size_t kMost = std::size_t{3} << 12;  // different addresses

  // `due` is set once as many addresses were named as a review waits for. REQUIRES: it outlives this.
  explicit NamedStarts(std::atomic<bool>& due) : due_(due) {}

  // A launch names what begins there; 0 bytes: it may end anywhere.
  void note(Extent named);

  // Sets `due` after this many more.
  void expect(std::uint32_t names) { left_.store(names, std::memory_order_relaxed); }
  std::vector<NamedStretch> stretches() const;
  // From now on each has been named half as often. What has not been named for long still ends what is before it.
  void halve();
  bool is_full() const { return count_.load(std::memory_order_relaxed) >= kMost; }
  void clear();

 private:
  struct Start {
    std::atomic<std::uint64_t> key{0};    // its offset and 1; 0: free
    std::atomic<std::uint64_t> bytes{0};  // the most that it was named with
    std::atomic<std::uint32_t> times{0};
  };
  static constexpr std::size_t kSlots = std::size_t{1} << 14;

  Start* slot_of(std::uint64_t key);

  std::atomic<bool>& due_;
  std::atomic<std::uint32_t> left_{0};
  std::atomic<std::size_t> count_{0};
  std::array<Start, kSlots> starts_;
};

}  // namespace tessera
