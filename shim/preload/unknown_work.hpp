// Unknown work: its parameters cannot be queried. It must never count as work that uses no block.
//
// The library reads a kernel's parameters by their layout. If the driver does not supply the layout, every word that
// could be part of a parameter counts: these words may name more blocks than the kernel uses, but never fewer. If the
// parameters cannot be read at all, for example those of some graph nodes, every block counts: all blocks are fetched
// and stay in device memory, or the work fails with out of memory.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>

#include "cuda_api.hpp"
#include "found_words.hpp"

namespace tessera::preload {

// Adds all words that the parameters could contain, whatever their number and sizes. `parameters` is the argument of
// cuLaunchKernel: one pointer per parameter, without a terminator. Returns false if this process cannot read possibly
// unmapped memory (no file descriptors left).
bool scan_unknown(void** parameters, FoundWords& found);

// Call before queuing work that may use any block; `call` is the queuing call. From then on blocks are evicted only by
// tessera_evict() and tessera_sleep(), never automatically. Errors: CUDA_ERROR_OUT_OF_MEMORY if the blocks do not fit
// together; a line reports it.
CUresult hold_everything(const char* call);

}  // namespace tessera::preload
