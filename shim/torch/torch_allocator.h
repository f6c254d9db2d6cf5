/* The exports of libtessera_torch.so: the functions that PyTorch's CUDAPluggableAllocator takes by name or by address,
 * and the per-operator brackets for eager code without the preload library.
 *
 * Why no hook for init: Tessera starts at the first allocation, since CUDA must not be started in a process that only
 * forks. The three hooks of graph pools take C++ types: graph_pool_hooks.hpp.
 *
 * Thread safety: every function may be called from any thread, as PyTorch does; the brackets
 * belong to the thread that opens them.
 *
 * Invariants: every allocation comes from tessera_shared(), and nothing here keeps an allocator.
 */
#ifndef TESSERA_TORCH_ALLOCATOR_H
#define TESSERA_TORCH_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tessera/interpose.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef tessera_stream tessera_torch_stream; /* a cudaStream_t: the same pointer */

/* A block for use on `stream`; null for 0 bytes. PyTorch checks no error code, so failures throw std::runtime_error of
 * the program's own C++ runtime, which becomes a RuntimeError; its text contains "out of memory" if that is the cause.
 * A process without libstdc++.so.6 gets null, and a line on standard error. */
TESSERA_API void* tessera_torch_malloc(ssize_t size, int device, tessera_torch_stream stream);
/* Frees after the work queued on `stream`, and on each stream recorded for the block. Never throws: tensors are freed
 * in destructors. Errors are printed as a line on standard error. */
TESSERA_API void tessera_torch_free(void* pointer, ssize_t size, int device, tessera_torch_stream stream);

/* ---- optional hooks: allocator._allocator.set_*_fn(address) ---------------------------------- */

/* empty_cache: cached blocks and spare frames go back to the driver. */
TESSERA_API void tessera_torch_reset(void);
/* Budgets are fixed at the start; prints one line about it, which names the option. */
TESSERA_API void tessera_torch_memory_fraction(double fraction, int device);
/* The block's first byte, and its size. The caller is about to share the block with another process, so it is exposed:
 * it stays in device memory from now on. */
TESSERA_API void* tessera_torch_base_alloc(void* pointer, size_t* size);
/* Work on `stream` uses the block too: it is reused only after that work as well. */
TESSERA_API void tessera_torch_record_stream(void* pointer, tessera_torch_stream stream);

/* ---- one operator at a time ------------------------------------------------------------------ */

/* Between begin and end the blocks that contain `addresses` (the first `written` of them are written), and all blocks
 * that this thread allocates, stay in device memory. Foreign addresses are ignored. Brackets nest. Errors:
 * OUT_OF_MEMORY if the operands do not fit together, DATA_LOSS, IO; then nothing was begun. */
TESSERA_API tessera_result tessera_torch_begin(const tessera_address* addresses, size_t count, size_t written);
/* All work of the operator has been queued on `stream`. INVALID_ARGUMENT without a begin. */
TESSERA_API tessera_result tessera_torch_end(tessera_torch_stream stream);

#ifdef __cplusplus
}
#endif

#endif
