// Copies and sets between any two addresses, after classifying each of them.
//
// CUDA decides by the addresses, not by the name of the call, and rejects addresses outside every allocation. So does
// this: an end is device memory, host memory, or an error.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>

#include "cuda_api.hpp"
#include "machine.hpp"

namespace tessera::softcuda {

// The caller's requirement for an end of a copy.
enum class End : std::uint8_t {
  kAny,     // cuMemcpy: unknown addresses are host memory
  kDevice,  // must be memory that the device can access
};

struct Place {
  std::uint64_t address;
  End end;
};

// Queues a copy. Errors: CUDA_ERROR_INVALID_VALUE if an end is not entirely valid memory.
CUresult copy_bytes(Machine& machine, Place to, Place from, std::uint64_t bytes, StreamId stream);

// Queues a set of `count` elements of `width` bytes.
CUresult set_elements(Machine& machine, std::uint64_t to, std::uint32_t value, std::uint32_t width, std::uint64_t count,
                      StreamId stream);

// Whether a copy or a set takes the whole range as this end.
bool is_memory(Machine& machine, Place place, Bytes bytes);

// Whether the whole range is mapped and accessible to the device.
bool is_mapped(Machine& machine, Address address, Bytes bytes);

}  // namespace tessera::softcuda
