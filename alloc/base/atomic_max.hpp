// Raises an atomic to at least a value.
//
// Thread safety: any thread; concurrent raises keep the largest value.
#pragma once

#include <atomic>

namespace tessera {

// Returns the previous value. Inline in any case, as launches and frees stamp with it.
template <class T>
[[gnu::always_inline]] inline T raise_to(std::atomic<T>& target, T at_least) {
  T before = target.load(std::memory_order_relaxed);
  while (before < at_least) {
    T expected = before;  // a variable of its own: `before` stays in a register
    if (target.compare_exchange_weak(expected, at_least)) break;
    before = expected;
  }
  return before;
}

}  // namespace tessera
