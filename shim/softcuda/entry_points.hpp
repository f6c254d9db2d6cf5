// Every documented entry point of the driver API, by exported name, base name and version.
//
// The table is generated from the toolkit's headers (generate_entry_points.py), so every documented name is in it.
// Entry points that this folder does not define return CUDA_ERROR_NOT_SUPPORTED and are counted.
//
// Thread safety: the table is constant, its counters are atomic.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::softcuda {

struct EntryPoint {
  std::string_view name;  // exported name: cuMemcpyHtoD_v2_ptds
  std::string_view base;  // name for cuGetProcAddress: cuMemcpyHtoD
  int version;            // CUDA version that introduced this ABI; 0 if not in the headers
  bool per_thread;        // the _ptds or _ptsz variant
  void* address;
  std::atomic<std::uint64_t>* unsupported_calls;
};

std::span<const EntryPoint> entry_points();

struct EntryPointSearch {
  const EntryPoint* found = nullptr;
  bool name_known = false;  // with found == nullptr: there are only newer versions
};

// The newest ABI of `name` in CUDA `version`. `per_thread` prefers the per-thread variant.
EntryPointSearch find_entry_point(std::string_view name, int version, bool per_thread);

// Prints one line for each unsupported entry point that was called.
void report_unsupported_calls();

}  // namespace tessera::softcuda
