// Copies and sets between any two addresses, once it is known what each of them is.
//
// CUDA decides by the addresses, not by the name of the call, and refuses what lies outside every
// allocation. So does this: an end is device memory, host memory, or an error.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>

#include "cuda_api.hpp"
#include "machine.hpp"

namespace tessera::softcuda {

// What the caller said about an end of a copy.
enum class End : std::uint8_t {
  kAny,     // cuMemcpy: unknown addresses are host memory
  kDevice,  // must be memory that the device reaches
};

struct Place {
  std::uint64_t address;
  End end;
};

// Queues a copy. Errors: CUDA_ERROR_INVALID_VALUE when an end is not (all) memory.
CUresult copy_bytes(Machine& machine, Place to, Place from, std::uint64_t bytes, StreamId stream);

// Queues a set of `count` elements of `width` bytes.
CUresult set_elements(Machine& machine, std::uint64_t to, std::uint32_t value, std::uint32_t width,
                      std::uint64_t count, StreamId stream);

// Whether all of the range is mapped and open to the device.
bool is_mapped(Machine& machine, Address address, Bytes bytes);

}  // namespace tessera::softcuda
