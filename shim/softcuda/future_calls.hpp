// A driver that is newer than the newest CUDA that Tessera knows, as programs of its time see it
// (TESSERA_SOFTWARE_FUTURE=1): what did not change since is as it was, cuMemsetD32Async has another form, and there are
// functions that no header has.
//
// Thread safety: any thread.
#pragma once

#include <string_view>

namespace tessera::softcuda {

// Whether look-ups for versions beyond TESSERA_NEWEST_CUDA are answered.
bool is_of_future();
// What only a newer version than that has by this name; null for all else.
void* find_future_call(std::string_view name, int version);

}  // namespace tessera::softcuda
