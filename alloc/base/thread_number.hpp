// A small number for each thread: spreads threads over slots, each in a cache line of its own.
//
// The numbers below kOwnThreadNumbers are each held by at most one living thread, so a slot with such
// a number has one writer at a time, who needs no atomic addition; a thread that ends leaves its number
// to a later one. Threads that find none left share the last slot, and add atomically.
//
// Why not std::this_thread::get_id(): that is a pointer, and says nothing about how many there are.
//
// Thread safety: any thread; the number is the calling thread's until its thread-local objects go.
#pragma once

#include <cstdint>

namespace tessera {

inline constexpr std::uint32_t kOwnThreadNumbers = 63;
inline constexpr std::uint32_t kThreadSlots = kOwnThreadNumbers + 1;

namespace detail {
inline constinit thread_local std::uint32_t thread_number_plus_one = 0;
std::uint32_t take_thread_number();
}  // namespace detail

// Below kThreadSlots.
inline std::uint32_t thread_number() {
  const std::uint32_t mine = detail::thread_number_plus_one;
  return mine != 0 ? mine - 1 : detail::take_thread_number();
}

}  // namespace tessera
