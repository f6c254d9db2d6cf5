// The words among some bytes that lie in the managed range: possible managed addresses, graded by certainty.
//
// certain  an eight-byte parameter; a word at a multiple of eight in a larger one
// likely   such a word in a larger parameter, when blocks lie at low addresses: two small numbers look like a low
//          address, so the word counts as certain only if it is exactly the first byte of a block
// maybe    a word at any other byte offset, as in packed structs; when blocks lie low, only if it can be the first
//          byte of a block, which is a multiple of 512
//
// All of them are fetched if they fit in device memory together. Otherwise uncertain words are fetched as far as they
// fit, and never make a launch fail.
//
// Looking at every byte offset costs little more than reading aligned words: the fifth and sixth byte of an address
// rule out nearly all other words, and are compared for 16 positions at once.
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

// Words by certainty that they are addresses; within each grade the most likely first.
struct WordSpans {
  std::span<const std::uint64_t> certain, likely, maybe;

  bool empty() const { return certain.empty() && likely.empty() && maybe.empty(); }
  bool all_certain() const { return likely.empty() && maybe.empty(); }
  std::vector<std::uint64_t> in_a_row() const;
};

// A linear copy by a graph node into managed memory.
struct NodeCopy {
  CUdeviceptr to = 0, from = 0;  // `from` may be host memory
  std::size_t bytes = 0;
  bool may_not_run = false;  // it is in a conditional body
  bool rewrites = false;     // it overwrites part of what an earlier node of the graph writes
};

struct Words {
  std::vector<std::uint64_t> certain, likely, maybe;
  std::vector<std::uint64_t> given;  // for a graph: the certain words that are kernel parameters
  std::vector<NodeCopy> copies;      // for a graph: each launch may copy different addresses
  bool any_block = false;            // the words are unknown: the work may use any block

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

// Whether an address looks like a pair of small 32-bit counts: reservations start at 0x302000000 where a driver ignores
// address hints. High addresses have 4096 or more in their upper half.
inline bool is_low(std::uint64_t address) { return address < std::uint64_t{1} << 44; }
inline bool blocks_lie_low() { return is_low(detail::launch_facts.range_low.load(std::memory_order_relaxed)); }

class FoundWords {
 public:
  FoundWords()
      : low_(detail::launch_facts.range_low.load(std::memory_order_relaxed)),
        bytes_(detail::launch_facts.range_high.load(std::memory_order_relaxed) - low_) {}

  // A one-word parameter, at any alignment.
  [[gnu::always_inline]] void look_at(const void* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    if (word - low_ < bytes_) add(word);
  }
  // The parameters at these places: those of one word by look_at(), the others by `scan_one(address, place)`, which may
  // add words. What the loop needs of this object is in registers, since every launch runs it.
  template <class Place, class Scan>
  [[gnu::always_inline]] void look_at_all(void** parameters, std::span<const Place> places, Scan scan_one) {
    const std::uint64_t low = low_, bytes = bytes_;
    std::size_t count = count_;
    for (const Place& place : places) {
      const void* const at = parameters[place.index];
      if (place.bytes == sizeof(std::uint64_t) && count < few_.size()) [[likely]] {
        std::memcpy(&few_[count], at, sizeof(few_[count]));
        count += few_[count] - low < bytes ? 1 : 0;
        continue;
      }
      count_ = count;
      if (place.bytes == sizeof(std::uint64_t)) {
        look_at(at);
      } else {
        scan_one(at, place);
      }
      count = count_;
    }
    count_ = count;
  }
  // A larger parameter: every word that begins at any byte offset and ends within it.
  void scan(const void* begin, std::size_t bytes);
  // Adds a word known to be an address.
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
  std::vector<std::uint64_t> many_;    // all certain words, once there are more than few_ holds
  std::size_t count_ = 0;
  std::unique_ptr<Words> doubtful_;  // null for most launches
};

}  // namespace tessera::preload
