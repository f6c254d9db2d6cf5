// The words of some bytes that lie in the managed range: what could be addresses of ours.
//
// Words are looked for at every byte, not at every eighth: a packed struct puts them anywhere. That
// costs about as much as reading aligned words, because one byte of an address tells nearly all
// others away: the sixth, the same in all addresses of a range below a terabyte, is compared for 64
// positions at once.
//
// Thread safety: an object belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lifecycle.hpp"

namespace tessera::preload {

class FoundWords {
 public:
  FoundWords()
      : low_(detail::range_low.load(std::memory_order_relaxed)),
        bytes_(detail::range_high.load(std::memory_order_relaxed) - low_) {}

  // One word, at any address.
  [[gnu::always_inline]] void look_at(const void* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    if (word - low_ < bytes_) add(word);
  }
  // Every word that begins at any of the bytes and ends among them.
  void scan(const void* begin, std::size_t bytes);
  void add(std::uint64_t word) {
    if (count_ < few_.size()) {
      few_[count_++] = word;
    } else {
      add_to_many(word);
    }
  }

  std::span<const std::uint64_t> words() const {
    return count_ <= few_.size() ? std::span(few_.data(), count_) : std::span(many_);
  }

 private:
  void add_to_many(std::uint64_t word);

  const std::uint64_t low_;
  const std::uint64_t bytes_;
  std::array<std::uint64_t, 64> few_;  // the first count_ are set
  std::vector<std::uint64_t> many_;    // all of them, once there are more
  std::size_t count_ = 0;
};

}  // namespace tessera::preload
