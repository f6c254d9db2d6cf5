// Raising an atomic to at least a value, whoever else raises it.
//
// Thread safety: that is its job.
#pragma once

#include <atomic>

namespace tessera {

// Returns what was there before.
template <class T>
T raise_to(std::atomic<T>& target, T at_least) {
  T before = target.load(std::memory_order_relaxed);
  while (before < at_least && !target.compare_exchange_weak(before, at_least)) {
  }
  return before;
}

}  // namespace tessera
