// Unknown work: no query tells what it is given. It must never count as work that uses no block.
//
// The library reads a kernel's parameters by their layout. If the driver does not tell the layout, every word
// that could be part of a parameter counts: these words may name more blocks than the kernel uses, but not
// fewer. If the parameters cannot be read at all, for example because a graph's node does not tell them, every
// block counts: all blocks are brought into device memory and stay there, or the work is out of memory.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>

#include "cuda_api.hpp"
#include "found_words.hpp"

namespace tessera::preload {

// Adds all words that the parameters could hold, whatever their number and sizes. `parameters` is what
// cuLaunchKernel takes: a pointer for each parameter, without an end mark.
// Returns false if this process has no way to read memory that may be unmapped (no file descriptors left).
bool scan_unknown(void** parameters, FoundWords& found);

// To be called before work that may use any block is queued; `call` is the call that queues it. From then on
// blocks leave only by tessera_evict() and tessera_sleep(), not by themselves.
// Errors: CUDA_ERROR_OUT_OF_MEMORY if the blocks do not fit together; a line says so.
CUresult hold_everything(const char* call);

}  // namespace tessera::preload
