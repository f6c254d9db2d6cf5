// All that changes about one block, in one word: live or free, how often reused, bytes unused.
//
// One word, so that double frees are told apart from frees by one compare-and-swap, and a look-up
// without a lock sees one consistent block. What was asked for is kept as the slack below the
// capacity, which is always small: classes waste less than a base page.
//
// Thread safety: read() by any thread; begin() by the one thread that took the block out of a
// cache; end() by any thread, and exactly one wins. begin() is sequentially consistent: it is one side
// of the race with an engine that drops the bytes of runs without a live block (block_cache.hpp).
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
  Bytes slack;                   // capacity minus bytes asked for, of the last life
  std::uint64_t generation = 0;  // grows with each life
};

class BlockWord {
 public:
  BlockState read() const { return unpack(word_.load(std::memory_order_acquire)); }

  // A new life. REQUIRES: the block is free, and out of every cache; slack < kSlackLimit.
  void begin(Bytes slack) {
    DCHECK_LT(slack, kSlackLimit);
    const BlockState before = unpack(word_.load(std::memory_order_relaxed));
    DCHECK(!before.live);
    word_.store(pack({true, slack, before.generation + 1}));
  }

  // Ends the life and tells what it was; nothing when the block is not live.
  std::optional<BlockState> end() {
    std::uint64_t word = word_.load(std::memory_order_acquire);
    if ((word & kLive) == 0) return std::nullopt;
    if (!word_.compare_exchange_strong(word, word & ~kLive, std::memory_order_acq_rel)) {
      return std::nullopt;
    }
    return unpack(word);
  }

  static constexpr Bytes kSlackLimit{1u << 23};

  // As the engine reads them: odd while the block lives.
  static std::span<const std::atomic<std::uint64_t>> raw(std::span<const BlockWord> words) {
    static_assert(sizeof(BlockWord) == sizeof(words[0].word_) && kLive == 1);
    return {&words.front().word_, words.size()};
  }

 private:
  static constexpr std::uint64_t kLive = 1;
  static constexpr int kSlackShift = 1;
  static constexpr int kGenerationShift = 24;

  static constexpr std::uint64_t pack(BlockState state) {
    return (state.live ? kLive : 0) | state.slack.value() << kSlackShift |
           state.generation << kGenerationShift;
  }
  static constexpr BlockState unpack(std::uint64_t word) {
    return {(word & kLive) != 0, Bytes(word >> kSlackShift & (kSlackLimit.value() - 1)),
            word >> kGenerationShift};
  }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace tessera
