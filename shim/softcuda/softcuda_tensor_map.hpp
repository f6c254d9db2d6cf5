// A tensor map of the software device: opaque bytes to everyone but the device and its kernels.
//
// Why no address can be read in it: a GPU promises none either, so a program that is right here does
// not look for one. Of all that a map tells, kernels here use the address alone.
//
// Thread safety: stateless.
#pragma once

#include <stdint.h>

namespace softcuda {

inline constexpr uint64_t kTensorMapMask = 0xA5C3'5A3C'C3A5'3C5A;

// `words` are the sixteen of a CUtensorMap.
inline void set_tensor_address(uint64_t* words, uint64_t address) {
  words[5] = (address << 13 | address >> 51) ^ kTensorMapMask;
}
inline uint64_t tensor_address(const uint64_t* words) {
  const uint64_t turned = words[5] ^ kTensorMapMask;
  return turned >> 13 | turned << 51;
}

}  // namespace softcuda
