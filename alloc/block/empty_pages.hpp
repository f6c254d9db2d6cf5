// Counts the pages of slots without a slot in use.
//
// Different threads increment and decrement the count for one page, and a decrement may come before its increment, so
// it may be negative for a moment.
//
// Thread safety: all functions may be called from any thread; a slab is noted under the lock of its slots.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "block/shared_page.hpp"

namespace tessera {

class EmptyPages {
 public:
  // The slab, which was empty, is in use from now on; or the reverse. Its page may have other slabs.
  void note_used(const Slab& slab) {
    if (slab.page() == nullptr || slab.page()->note_used()) --count_;
  }
  void note_unused(const Slab& slab) {
    if (slab.page() == nullptr || slab.page()->note_unused()) ++count_;
  }
  // Such a page joins the cache, or leaves it.
  void add() { ++count_; }
  void remove() { --count_; }
  void clear() { count_ = 0; }

  std::int64_t count() const { return count_.load(); }
  Bytes bytes() const { return kBasePage * static_cast<std::uint64_t>(std::max(count(), std::int64_t{0})); }

 private:
  std::atomic<std::int64_t> count_{0};
};

}  // namespace tessera
