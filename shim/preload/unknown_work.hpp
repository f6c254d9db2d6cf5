// Work of which no query tells what it is given: it never counts as work that uses no block.
//
// A kernel's parameters are read by its layout. Where the driver does not tell the layout, every word that
// they could be made of counts: more blocks than the kernel uses may be among them, fewer cannot. Where
// even that cannot be read, as of a graph's node that does not tell its parameters, every block counts: all
// are brought into device memory, and none leaves any more. Programs that do not fit then are told so.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>

#include "cuda_api.hpp"
#include "found_words.hpp"

namespace tessera::preload {

// Stands among the words of work that may use any block. No address is as large.
inline constexpr std::uint64_t kAnyBlock = ~std::uint64_t{0};

// Adds all words that the parameters in the list could hold, whatever their number and sizes. `parameters`
// is what cuLaunchKernel takes: a pointer for each parameter, and nothing that says where the list ends.
// False where memory cannot be read without knowing that it is there.
bool scan_unknown(void** parameters, FoundWords& found);

// Before work is queued that may use any block; `call` is what queues it. From then on blocks leave when the
// program or tessera_sleep() says so, and not by themselves.
// Errors: CUDA_ERROR_OUT_OF_MEMORY where they do not fit together, and a line says so.
CUresult hold_everything(const char* call);

}  // namespace tessera::preload
