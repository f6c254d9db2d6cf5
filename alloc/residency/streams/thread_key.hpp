// Numbers threads for as long as they live: a per-thread default stream is known by its thread.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>

namespace tessera {

// The calling thread's key, never 0. Cheap after the first call.
std::uint64_t this_thread_key();
// Whether the thread with this key has ended; false for 0.
bool thread_has_ended(std::uint64_t key);

}  // namespace tessera
