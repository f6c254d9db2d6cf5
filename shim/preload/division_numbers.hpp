// Numbers with which kernels divide, which look like low addresses.
//
// Kernels divide by a number that is not known when they are compiled with a multiplication and a shift, and get the
// three in a struct (PyTorch's IntDivider, CUTLASS's FastDivmod, ggml's fastdiv): the multiplier fills 32 bits and the
// shift is small, so the two together are an address of 4 GiB times the shift. The divisor is beside them and tells.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::preload {

// Whether 2^(32 + shift) / divisor is what one multiplies by: the multiplier, or 2^32 more. Rounding adds one or two.
inline bool multiplies_for(std::uint32_t divisor, std::uint32_t multiplier, std::uint32_t shift) {
  if (divisor == 0 || shift > 31) return false;
  const std::uint64_t exact = (std::uint64_t{1} << (32 + shift)) / divisor;
  const auto near = [exact](std::uint64_t value) { return value - exact + 2 <= 4; };
  return near(multiplier) || near(multiplier + (std::uint64_t{1} << 32));
}

// Whether the word at `at` is a multiplier and a shift, with their divisor before or behind them.
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
