// A small number for each thread, in the order in which threads first ask: spreads threads over
// slots, each in a cache line of its own.
//
// Why not std::this_thread::get_id(): that is a pointer, and says nothing about how many there are.
//
// Thread safety: any thread; the number is the calling thread's for its whole life.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera {

namespace detail {
inline constinit std::atomic<std::uint32_t> threads_numbered{0};
inline constinit thread_local std::uint32_t thread_number_plus_one = 0;
}  // namespace detail

inline std::uint32_t thread_number() {
  std::uint32_t& mine = detail::thread_number_plus_one;
  if (mine == 0) mine = 1 + detail::threads_numbered.fetch_add(1, std::memory_order_relaxed);
  return mine - 1;
}

}  // namespace tessera
