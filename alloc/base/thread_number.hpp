// A small number for each thread: spreads threads over slots in separate cache lines.
//
// Each number but kSharedThreadNumber is held by at most one living thread, so its slot has a single writer, which
// needs no atomic addition. A thread that ends releases its number to a later one. When all are taken, threads share
// the first slot and add atomically.
//
// std::this_thread::get_id() does not serve: it is a pointer, not a small index.
//
// Thread safety: any thread; the number belongs to the calling thread until its thread-local objects are
// destroyed.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera {

inline constexpr std::uint32_t kThreadSlots = 64;
inline constexpr std::uint32_t kSharedThreadNumber = 0;

namespace detail {
inline constinit thread_local std::uint32_t thread_number_plus_one = 0;
std::uint32_t take_thread_number();
inline constinit std::atomic<std::uint32_t> thread_slots_used = 1;
}  // namespace detail

// Always below thread_slots_used().
inline std::uint32_t thread_number() {
  const std::uint32_t mine = detail::thread_number_plus_one;
  return mine != 0 ? mine - 1 : detail::take_thread_number();
}

// All numbers that threads have had so far are below this, so that a look at all slots reads no more cache lines than
// there were threads at once. Sequentially consistent: whatever a thread does after it took a higher number comes after
// this call, in the one order of such operations.
inline std::uint32_t thread_slots_used() { return detail::thread_slots_used.load(); }

}  // namespace tessera
