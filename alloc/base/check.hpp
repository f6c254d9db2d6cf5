// Assertions for debug builds: DCHECK for cheap conditions, DCHECK_SLOW for those that walk structures.
//
// There is no always-on CHECK: Tessera runs inside another program's process and must never end it. Release
// code reports a broken invariant as Code::kInternal from the call that found it. A failed DCHECK prints both
// operands, allocates nothing, and aborts; it exists in debug builds only.
//
// Thread safety: stateless.
#pragma once

#include <concepts>
#include <cstdint>

namespace tessera::check {

[[noreturn]] void fail(const char* expression, const char* file, int line, std::uint64_t left, std::uint64_t right);

template <class T>
constexpr std::uint64_t printable(const T& value) {
  if constexpr (std::convertible_to<T, std::uint64_t>) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (requires { value.value(); }) {
    return static_cast<std::uint64_t>(value.value());
  } else {
    return 0;
  }
}

}  // namespace tessera::check

#ifdef NDEBUG
inline constexpr bool kTesseraChecked = false;
#else
inline constexpr bool kTesseraChecked = true;
#endif

#define TESSERA_DCHECK_OP(left, op, right)                                                                    \
  do {                                                                                                        \
    if (kTesseraChecked && !((left)op(right)))                                                                \
      ::tessera::check::fail(#left " " #op " " #right, __FILE__, __LINE__, ::tessera::check::printable(left), \
                             ::tessera::check::printable(right));                                             \
  } while (false)

#define DCHECK(condition)                                                                              \
  do {                                                                                                 \
    if (kTesseraChecked && !(condition)) ::tessera::check::fail(#condition, __FILE__, __LINE__, 0, 0); \
  } while (false)
#define DCHECK_EQ(a, b) TESSERA_DCHECK_OP(a, ==, b)
#define DCHECK_NE(a, b) TESSERA_DCHECK_OP(a, !=, b)
#define DCHECK_LE(a, b) TESSERA_DCHECK_OP(a, <=, b)
#define DCHECK_LT(a, b) TESSERA_DCHECK_OP(a, <, b)
#define DCHECK_GE(a, b) TESSERA_DCHECK_OP(a, >=, b)
#define DCHECK_GT(a, b) TESSERA_DCHECK_OP(a, >, b)
// For conditions that walk a structure, mostly `validate().is_ok()`.
#define DCHECK_SLOW(condition) DCHECK(condition)
