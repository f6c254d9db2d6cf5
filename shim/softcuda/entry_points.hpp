// Every documented entry point of the driver API, by exported name, base name and version.
//
// The table is generated from the toolkit's headers (generate_entry_points.py), so a name that a
// program may ask for is either here or not documented. Entry points that nothing in this folder
// defines answer CUDA_ERROR_NOT_SUPPORTED and are counted.
//
// Thread safety: the table is constant, its counters are atomic.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::softcuda {

struct EntryPoint {
  std::string_view name;  // as exported: cuMemcpyHtoD_v2_ptds
  std::string_view base;  // as asked for: cuMemcpyHtoD
  int version;            // of CUDA in which this ABI came; 0 when the headers do not say
  bool per_thread;        // the _ptds or _ptsz spelling
  void* address;
  std::atomic<std::uint64_t>* unsupported_calls;
};

std::span<const EntryPoint> entry_points();

struct EntryPointSearch {
  const EntryPoint* found = nullptr;
  bool name_known = false;  // with found == nullptr: only newer versions exist
};

// The newest ABI of `name` that CUDA `version` knew. `per_thread` prefers that spelling.
EntryPointSearch find_entry_point(std::string_view name, int version, bool per_thread);

// One line on standard error for each unsupported entry point that was called.
void report_unsupported_calls();

}  // namespace tessera::softcuda
