/* Throws errors as exceptions of the program's own C++ runtime: libtessera_torch.so contains another copy of it.
 *
 * Why in C: an exception of one runtime must not unwind frames of another runtime's code that need cleanup, and these
 * frames need none. An exception thrown by our copy would be caught too, but would leave the program's count of
 * exceptions in flight wrong.
 *
 * Thread safety: any thread.
 */
#ifndef TESSERA_TORCH_PROGRAM_ERROR_H
#define TESSERA_TORCH_PROGRAM_ERROR_H

#include "torch_allocator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tessera_torch_malloc, with its error as a text that is valid in this thread until its next call; null on success. */
void* tessera_torch_take(ssize_t size, int device, tessera_torch_stream stream, const char** failure);

#ifdef __cplusplus
}
#endif

#endif
