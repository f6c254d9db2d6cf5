// The words of some bytes that lie in the managed range: what could be addresses of ours, and how sure that is.
//
// certain  a parameter of eight bytes; a word at a multiple of eight in a larger one
// likely   such a word in a larger one, where blocks lie low: two small numbers look like one of their addresses, so
//          it counts as certain only if it is the very address of a block
// maybe    a word at any other byte, as packed structs have them; where blocks lie low, only if it can be the address
//          of a block, which is a multiple of 512
//
// All of them are fetched when they fit into device memory together. When they do not, what is not certain comes as
// far as it fits, and never fails a launch.
//
// Looking at every byte costs little more than reading aligned words: the fifth and sixth byte of an address tell
// nearly all others away, and are compared for 16 positions at once.
//
// Thread safety: an object belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "lifecycle.hpp"

namespace tessera::preload {

// Words by how sure it is that they are addresses; those of each kind with the most likely first.
struct WordSpans {
  std::span<const std::uint64_t> certain, likely, maybe;

  bool empty() const { return certain.empty() && likely.empty() && maybe.empty(); }
  bool all_certain() const { return likely.empty() && maybe.empty(); }
  std::vector<std::uint64_t> in_a_row() const;
};

// What a graph's node copies along a line into managed memory.
struct NodeCopy {
  CUdeviceptr to = 0, from = 0;  // `from` may be host memory
  std::size_t bytes = 0;
  bool may_not_run = false;  // it is in a conditional body
  bool rewrites = false;     // a part of what an earlier node of the graph writes
};

struct Words {
  std::vector<std::uint64_t> certain, likely, maybe;
  std::vector<NodeCopy> copies;  // of a graph: each launch may store other addresses by them
  bool any_block = false;  // the work does not tell: it may use any block

  Words() = default;
  explicit Words(const WordSpans& words)
      : certain(words.certain.begin(), words.certain.end()),
        likely(words.likely.begin(), words.likely.end()),
        maybe(words.maybe.begin(), words.maybe.end()) {}
  operator WordSpans() const { return {certain, likely, maybe}; }
  bool empty() const { return !any_block && WordSpans(*this).empty(); }
  void append(const WordSpans& more);
  void append(const Words& more);
  void keep_each_once();
};

// Whether an address there looks like a pair of 32-bit numbers to which programs count: reservations begin at
// 0x302000000 where a driver takes no hint. High ones have 4096 or more in their upper half.
inline bool is_low(std::uint64_t address) { return address < std::uint64_t{1} << 44; }
inline bool blocks_lie_low() { return is_low(detail::range_low.load(std::memory_order_relaxed)); }

class FoundWords {
 public:
  FoundWords()
      : low_(detail::range_low.load(std::memory_order_relaxed)),
        bytes_(detail::range_high.load(std::memory_order_relaxed) - low_) {}

  // A parameter of one word, at any address.
  [[gnu::always_inline]] void look_at(const void* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    if (word - low_ < bytes_) add(word);
  }
  // A larger one: every word that begins at any of the bytes and ends among them.
  void scan(const void* begin, std::size_t bytes);
  // An address of which it is known that it is one.
  void add(std::uint64_t word) {
    if (count_ < few_.size()) {
      few_[count_++] = word;
    } else {
      add_to_many(word);
    }
  }

  WordSpans words() const {
    WordSpans words{count_ <= few_.size() ? std::span(few_.data(), count_) : std::span(many_), {}, {}};
    if (doubtful_ != nullptr) {
      words.likely = doubtful_->likely;
      words.maybe = doubtful_->maybe;
    }
    return words;
  }

 private:
  Words& doubtful();
  void look_inside(const std::uint8_t* begin, std::size_t bytes, std::size_t at);
  void add_to_many(std::uint64_t word);

  const std::uint64_t low_;
  const std::uint64_t bytes_;
  std::array<std::uint64_t, 64> few_;  // the first count_ are set
  std::vector<std::uint64_t> many_;    // all of the certain ones, once there are more
  std::size_t count_ = 0;
  std::unique_ptr<Words> doubtful_;  // most launches have none
};

}  // namespace tessera::preload
