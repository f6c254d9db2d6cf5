/* An error as an exception of the program's own C++ runtime: libtessera_torch.so has another copy of it inside.
 *
 * Why in C: one runtime's exception must not meet frames of another's code that it would have to clean up, and these
 * frames have nothing to clean up. An exception thrown by our copy would be caught too, but the program's count of
 * exceptions in flight would be wrong from then on.
 *
 * Thread safety: any thread.
 */
#ifndef TESSERA_TORCH_PROGRAM_ERROR_H
#define TESSERA_TORCH_PROGRAM_ERROR_H

#include "torch_allocator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tessera_torch_malloc, with its error as a text that is the thread's own until its next call; null if there is none.
 */
void* tessera_torch_take(ssize_t size, int device, tessera_torch_stream stream, const char** failure);

#ifdef __cplusplus
}
#endif

#endif
