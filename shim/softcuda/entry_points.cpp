#include "entry_points.hpp"

#include <fmt/core.h>

#include "base/log.hpp"
#include "call.hpp"
#include "future_calls.hpp"

namespace tessera::softcuda {

EntryPointSearch find_entry_point(std::string_view name, int version, bool per_thread) {
  // Since CUDA 12, cuda.h uses this name for another function.
  if (name == "cuGraphInstantiate" && version >= 12000) name = "cuGraphInstantiateWithFlags";
  EntryPointSearch search;
  for (const EntryPoint& entry : entry_points()) {
    const bool exact = entry.name == name;
    if (!exact && entry.base != name) continue;
    search.name_known = true;
    if (entry.version > version || (entry.per_thread && !per_thread && !exact)) continue;
    const auto rank = [](const EntryPoint& e) { return e.version + (e.per_thread ? 1 << 20 : 0); };
    if (search.found == nullptr || rank(entry) > rank(*search.found)) search.found = &entry;
  }
  return search;
}

void report_unsupported_calls() {
  for (const EntryPoint& entry : entry_points()) {
    const std::uint64_t calls = entry.unsupported_calls->load(std::memory_order_relaxed);
    if (calls == 0) continue;
    log_line(LogLevel::kError, "software device: {} is not supported, called {} times", entry.name, calls);
  }
}

}  // namespace tessera::softcuda

using namespace tessera::softcuda;  // NOLINT: the entry points below are C

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr || (version > TESSERA_NEWEST_CUDA && !is_of_future()) ||
      flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const EntryPointSearch search = find_entry_point(symbol, version, per_thread);
  void* const future = find_future_call(symbol, version);
  *function = future != nullptr ? future : search.found == nullptr ? nullptr : search.found->address;
  if (status != nullptr) {
    *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : search.name_known  ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

// The CUDA 11.3 form has no status: a missing symbol is an error.
#undef cuGetProcAddress
extern "C" [[gnu::visibility("default")]] CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                                                    cuuint64_t flags) {
  const CUresult result = cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
  if (result == CUDA_SUCCESS && *function == nullptr) return CUDA_ERROR_NOT_FOUND;
  return result;
}

// Private tables are not imitated: programs that need them need NVIDIA's own driver.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}
