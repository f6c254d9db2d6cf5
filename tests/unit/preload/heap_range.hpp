// The heap's address range, for tests of the preload library's parts that need nothing else.
//
// Thread safety: tests run one after another.
#pragma once

#include <cstdint>

#include "lifecycle.hpp"

namespace tessera::preload {

inline constexpr std::uint64_t kHighHeap = 0x6e55'0200'0000, kLowHeap = 0x3'0200'0000;
inline constexpr std::uint64_t kHeapBytes = std::uint64_t{64} << 30;

// The heap exists during this object's lifetime.
class HeapRange {
 public:
  explicit HeapRange(std::uint64_t low, std::uint64_t bytes = kHeapBytes) {
    detail::launch_facts.range_low.store(low);
    detail::launch_facts.range_high.store(low + bytes);
  }
  ~HeapRange() {
    detail::launch_facts.range_low.store(0);
    detail::launch_facts.range_high.store(0);
  }
  HeapRange(const HeapRange&) = delete;
  HeapRange& operator=(const HeapRange&) = delete;
};

}  // namespace tessera::preload
