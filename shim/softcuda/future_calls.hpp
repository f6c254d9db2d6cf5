// Simulates a driver newer than the newest CUDA that Tessera knows (TESSERA_SOFTWARE_FUTURE=1): unchanged functions
// stay as they are, cuMemsetD32Async has a new form, and there are functions that no header declares.
//
// Thread safety: any thread.
#pragma once

#include <string_view>

namespace tessera::softcuda {

// Whether look-ups for versions beyond TESSERA_NEWEST_CUDA succeed.
bool is_of_future();
// A function that exists only in such a newer version; null otherwise.
void* find_future_call(std::string_view name, int version);

}  // namespace tessera::softcuda
