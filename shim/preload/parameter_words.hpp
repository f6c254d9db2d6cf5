// The words in the parameters of a launch, queued or in a graph, that may be managed addresses.
//
// Every word of the parameters is compared with the managed range at every launch; words inside it go to Tessera, which
// knows the live blocks. A one-word parameter is one word; in a larger one, and in packed parameters, a word may begin
// at any byte. A tensor map among the parameters stands for its block.
//
// Thread safety: stateless.
#pragma once

#include <span>

#include "cuda_api.hpp"
#include "found_words.hpp"
#include "kernel_layouts.hpp"
#include "tensor_maps.hpp"
#include "unknown_work.hpp"

namespace tessera::preload {

// The packed parameters in `extra`, if it contains any.
inline std::span<const char> packed_parameters(void** extra) {
  const char* begin = nullptr;
  std::size_t bytes = 0;
  for (; extra != nullptr && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) begin = static_cast<const char*>(extra[1]);
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<std::size_t*>(extra[1]);
    if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER && extra[0] != CU_LAUNCH_PARAM_BUFFER_SIZE) {
      break;
    }
  }
  return begin != nullptr ? std::span(begin, bytes) : std::span<const char>();
}

inline void scan_parameter(const void* begin, std::size_t bytes, FoundWords& found) {
  found.scan(begin, bytes);
  if (bytes < sizeof(CUtensorMap) || !tensor_maps().any()) return;
  tensor_maps().visit(begin, bytes, [&](std::size_t, CUdeviceptr tensor) { found.add(tensor); });
}

// Of a structure with arrays of addresses, those that the launch fills.
[[gnu::noinline, gnu::cold]] inline bool scan_filled(const void* begin, const ParameterPlace& place, Grid grid,
                                                     FoundWords& found) {
  const std::span bytes(static_cast<const std::byte*>(begin), place.bytes);
  const FilledEntries filled = filled_entries(place.filled, bytes, grid);
  for (std::size_t array = 0; array < filled.arrays; ++array) {
    for (std::size_t entry = 0; entry < filled.filled; ++entry) {
      found.look_at(bytes.data() + (array * filled.entries + entry) * sizeof(CUdeviceptr));
    }
  }
  return filled.filled != 0;
}

// `grid`: of the launch; nothing where it is not known. `name` becomes the kernel's name, and may stay null. Returns
// false if the parameters are unknown: then the kernel may use any block.
inline bool read_parameters(CUfunction function, void** parameters, void** extra, Grid grid, FoundWords& found,
                            const char*& name) {
  const std::span<const char> packed = packed_parameters(extra);
  scan_parameter(packed.data(), packed.size(), found);
  const auto look = [&](const char* function_name, std::span<const ParameterPlace> places) {
    name = function_name;
    if (parameters == nullptr) return;
    found.look_at_all(parameters, places, [&](const void* at, const ParameterPlace& place) {
      if (place.filled != PartlyFilled::kNo) [[unlikely]] {
        if (scan_filled(at, place, grid, found)) return;
      }
      scan_parameter(at, place.bytes, found);
    });
  };
  const bool known = KernelLayouts::visit(function, look);
  return known || parameters == nullptr || scan_unknown(parameters, found);
}

}  // namespace tessera::preload
