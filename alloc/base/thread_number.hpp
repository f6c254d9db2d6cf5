// A small number for each thread: spreads threads over slots in separate cache lines.
//
// Each number below kOwnThreadNumbers is held by at most one living thread, so its slot has a single writer,
// which needs no atomic addition. A thread that ends releases its number to a later one. When all are taken,
// threads share the last slot and add atomically.
//
// std::this_thread::get_id() does not serve: it is a pointer, not a small index.
//
// Thread safety: any thread; the number belongs to the calling thread until its thread-local objects are
// destroyed.
#pragma once

#include <cstdint>

namespace tessera {

inline constexpr std::uint32_t kOwnThreadNumbers = 63;
inline constexpr std::uint32_t kThreadSlots = kOwnThreadNumbers + 1;

namespace detail {
inline constinit thread_local std::uint32_t thread_number_plus_one = 0;
std::uint32_t take_thread_number();
}  // namespace detail

// Always below kThreadSlots.
inline std::uint32_t thread_number() {
  const std::uint32_t mine = detail::thread_number_plus_one;
  return mine != 0 ? mine - 1 : detail::take_thread_number();
}

}  // namespace tessera
