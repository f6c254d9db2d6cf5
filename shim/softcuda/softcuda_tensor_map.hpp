// A tensor map of the software device: bytes that are opaque to all but the device and its kernels.
//
// Why the address is encoded: a GPU does not promise a readable address either, so a program must not look for one.
// Kernels here use only the address of a map.
//
// Thread safety: stateless.
#pragma once

#include <stdint.h>

namespace softcuda {

inline constexpr uint64_t kTensorMapMask = 0xA5C3'5A3C'C3A5'3C5A;

// `words` are the sixteen words of a CUtensorMap.
inline void set_tensor_address(uint64_t* words, uint64_t address) {
  words[5] = (address << 13 | address >> 51) ^ kTensorMapMask;
}
inline uint64_t tensor_address(const uint64_t* words) {
  const uint64_t turned = words[5] ^ kTensorMapMask;
  return turned >> 13 | turned << 51;
}

}  // namespace softcuda
