// What kind of machine the simulated driver is.
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.hpp"

namespace tessera {

struct SimOptions {
  int devices = 1;                          // at most 64
  Bytes memory = 1_GiB;                     // of each device
  Bytes host_memory = 16_GiB;               // all host frames together
  Bytes granularity = 2_MiB;                // a power of two, at least 64 KiB
  std::uint64_t copy_bytes_per_second = 0;  // of each copy engine; 0 = as fast as memcpy
  bool host_frames = true;                  // false: create_frame(kHost) is not supported
  bool virtual_memory = true;  // false: no reserve, no frames, no mappings, as on some vGPUs
  std::string name = "Tessera software device";
};

}  // namespace tessera
