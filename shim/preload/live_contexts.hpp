// The contexts of this process: those that the program created and has not destroyed, and the primary ones.
//
// Why: freed host memory may be given to another owner once no context has queued work that uses it, and host memory is
// accessible to the work of all of them.
//
// Thread safety: any thread.
#pragma once

#include "cuda_api.hpp"

namespace tessera::preload {

// The program has created this context.
void note_context(CUcontext context);
// It is about to end.
void forget_context(CUcontext context);

// Waits for all work of all contexts, beginning with the current one. Errors: INVALID_CONTEXT if none is current; else
// the driver's. `elsewhere` is set to the error of another context than the current one, for which the program is not
// to blame.
CUresult finish_all_work(CUresult& elsewhere);

}  // namespace tessera::preload
