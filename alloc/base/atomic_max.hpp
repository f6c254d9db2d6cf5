// Raises an atomic to at least a value.
//
// Thread safety: any thread; concurrent raises keep the largest value.
#pragma once

#include <atomic>

namespace tessera {

// Returns the previous value.
template <class T>
T raise_to(std::atomic<T>& target, T at_least) {
  T before = target.load(std::memory_order_relaxed);
  while (before < at_least && !target.compare_exchange_weak(before, at_least)) {
  }
  return before;
}

}  // namespace tessera
