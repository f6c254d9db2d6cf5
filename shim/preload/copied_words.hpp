// What copies and sets write: addresses of ours that a program stores where no launch shows them.
//
// Small copies from the host are searched for words that point into live blocks. In managed memory
// such a word makes the block that it lies in a table (pointer_tables.hpp). Anywhere else (module
// globals, memory of the driver's own) nobody tells us of its use, so the block that it names is
// exposed: it stays in device memory until it is freed, and the statistics say so.
//
// Not seen: words in copies of more than kMostSearched bytes, in copies of rows or through arrays, in
// copies while a stream captures, and words that kernels write.
//
// Thread safety: any thread. To be called after the driver has taken the call.
#pragma once

#include <cstddef>

#include "cuda_api.hpp"

namespace tessera::preload {

inline constexpr std::size_t kMostSearched = 128 << 10;

// `from` is host memory, readable.
void note_copy_in(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream);
// Both are device memory.
void note_copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream);
// Either may be either: asks the driver what they are, if it matters.
void note_copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream);
// Bytes that are no addresses, or that nobody can know. In a capture nothing is written yet.
void note_overwritten(CUdeviceptr to, std::size_t bytes, CUstream stream);

}  // namespace tessera::preload
