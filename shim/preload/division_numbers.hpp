// Numbers that kernels use for division, which look like low addresses.
//
// To divide by a number unknown at compile time, kernels use a multiplication and a shift, and get divisor, multiplier
// and shift in a struct (PyTorch's IntDivider, CUTLASS's FastDivmod, ggml's fastdiv). The multiplier fills 32 bits and
// the shift is small, so together they look like an address at 4 GiB times the shift. The divisor next to them
// identifies them.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::preload {

// Whether `multiplier`, or 2^32 + `multiplier`, is 2^(32 + shift) / divisor. Rounding adds one or two.
inline bool multiplies_for(std::uint32_t divisor, std::uint32_t multiplier, std::uint32_t shift) {
  if (divisor == 0 || shift > 31) return false;
  const std::uint64_t exact = (std::uint64_t{1} << (32 + shift)) / divisor;
  const auto near = [exact](std::uint64_t value) { return value - exact + 2 <= 4; };
  return near(multiplier) || near(multiplier + (std::uint64_t{1} << 32));
}

// Whether the word at `at` is a multiplier and a shift, with their divisor right before or after them.
inline bool is_division(const void* begin, std::size_t bytes, std::size_t at) {
  const auto number_at = [begin](std::size_t place) {
    std::uint32_t number = 0;
    std::memcpy(&number, static_cast<const char*>(begin) + place, sizeof(number));
    return number;
  };
  const std::uint32_t multiplier = number_at(at), shift = number_at(at + 4);
  return (at >= 4 && multiplies_for(number_at(at - 4), multiplier, shift)) ||
         (at + 12 <= bytes && multiplies_for(number_at(at + 8), multiplier, shift));
}

}  // namespace tessera::preload
