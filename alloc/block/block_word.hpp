// All mutable state of a block in one word: live or free, reuse count, unused bytes.
//
// With a single word, one compare-and-swap distinguishes a double free from a free, and a look-up without a
// lock sees a consistent block. The requested size is stored as the slack below the capacity, which is always
// small: classes waste less than a base page.
//
// Thread safety: read() from any thread; begin() only from the thread that took the block out of a cache; end()
// from any thread, and exactly one succeeds. begin() is sequentially consistent: it is one side of the race
// with an engine that drops the bytes of runs without a live block (block_cache.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.hpp"
#include "base/units.hpp"

namespace tessera {

struct BlockState {
  bool live = false;
  Bytes slack;                   // capacity minus requested bytes, of the latest lifetime
  std::uint64_t generation = 0;  // incremented with each lifetime
};

class BlockWord {
 public:
  BlockState read() const { return unpack(word_.load(std::memory_order_acquire)); }

  // Begins a new lifetime. REQUIRES: the block is free and in no cache; slack < kSlackLimit.
  void begin(Bytes slack) {
    DCHECK_LT(slack, kSlackLimit);
    const BlockState before = unpack(word_.load(std::memory_order_relaxed));
    DCHECK(!before.live);
    word_.store(pack({true, slack, before.generation + 1}));
  }

  // Ends the lifetime and returns its state; empty if the block is not live.
  std::optional<BlockState> end() {
    std::uint64_t word = word_.load(std::memory_order_acquire);
    if ((word & kLive) == 0) return std::nullopt;
    if (!word_.compare_exchange_strong(word, word & ~kLive, std::memory_order_acq_rel)) {
      return std::nullopt;
    }
    return unpack(word);
  }

  static constexpr Bytes kSlackLimit{1u << 23};

  // The words as the engine reads them: odd while the block is live.
  static std::span<const std::atomic<std::uint64_t>> raw(std::span<const BlockWord> words) {
    static_assert(sizeof(BlockWord) == sizeof(words[0].word_) && kLive == 1);
    return {&words.front().word_, words.size()};
  }

 private:
  static constexpr std::uint64_t kLive = 1;
  static constexpr int kSlackShift = 1;
  static constexpr int kGenerationShift = 24;

  static constexpr std::uint64_t pack(BlockState state) {
    return (state.live ? kLive : 0) | state.slack.value() << kSlackShift | state.generation << kGenerationShift;
  }
  static constexpr BlockState unpack(std::uint64_t word) {
    return {(word & kLive) != 0, Bytes(word >> kSlackShift & (kSlackLimit.value() - 1)), word >> kGenerationShift};
  }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace tessera
