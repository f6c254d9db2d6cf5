// A first-fit pool that allocates from its low or its high end: FlashNeuron (FAST 2021) uses one for short and long
// lifetimes. The allocator needs none (docs/decisions/0019-addresses-are-not-memory.md).
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "base/units.hpp"

namespace tessera::test {

class TwoEndedPool {
 public:
  explicit TwoEndedPool(Bytes size) : size_(size) {}

  // The lowest free range that is large enough; nothing if there is none.
  std::optional<Bytes> take_low(Bytes bytes) {
    Bytes begin;
    for (const auto& [taken, end] : taken_) {
      if (taken - begin >= bytes) break;
      begin = end;
    }
    return take(begin, bytes);
  }
  // The highest free range that is large enough; nothing if there is none.
  std::optional<Bytes> take_high(Bytes bytes) {
    Bytes end = size_;
    for (auto place = taken_.rbegin(); place != taken_.rend() && end - place->second < bytes; ++place)
      end = place->first;
    if (end < bytes) return std::nullopt;
    return take(end - bytes, bytes);
  }
  void free(Bytes begin) { taken_.erase(begin); }
  // The end of the highest allocation.
  Bytes top() const { return taken_.empty() ? Bytes() : std::prev(taken_.end())->second; }

 private:
  std::optional<Bytes> take(Bytes begin, Bytes bytes) {
    const auto behind = taken_.upper_bound(begin);
    const bool is_free = behind == taken_.begin() || std::prev(behind)->second <= begin;
    if (!is_free || begin + bytes > (behind == taken_.end() ? size_ : behind->first)) return std::nullopt;
    taken_.emplace(begin, begin + bytes);
    return begin;
  }

  Bytes size_;
  std::map<Bytes, Bytes> taken_;  // begin and end
};

}  // namespace tessera::test
