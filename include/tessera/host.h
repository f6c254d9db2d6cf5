/* Pinned host memory: blocks from the host budget, for fast copies to and from a device and for access by kernels.
 *
 * A block is mapped for all devices at its host address, as memory of cuMemHostAlloc is. Freed blocks stay pinned for
 * the next request, until tessera_trim or the heap needs the memory. The conventions of tessera.h hold.
 *
 * Thread safety: as tessera.h. */
#ifndef TESSERA_HOST_H
#define TESSERA_HOST_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns `bytes` (> 0) of pinned memory, aligned to 4096, or to 512 if `bytes` is less; contents are undefined.
 * Cheap when a block of this size is cached, else may pin memory, which takes about 0.1 s per GB. REQUIRES: the
 * current context is the one in which the allocator's device blocks are used; the memory ends with it. Errors:
 * NOT_SUPPORTED if the option host-blocks, or the host budget, is 0; OUT_OF_MEMORY if the budget has no room, or the
 * machine or the driver refuses it. The driver may still have room then: cuMemHostAlloc. */
TESSERA_API tessera_result tessera_host_malloc(tessera_allocator* allocator, size_t bytes, void** memory);
/* Unlike cuMemFreeHost, does not wait. Cheap. REQUIRES: no queued work uses the block any more. Errors: NOT_FOUND
 * unless a live block starts at `memory` (so also for a double free). */
TESSERA_API tessera_result tessera_host_free(tessera_allocator* allocator, void* memory);

typedef struct tessera_host_info {
  uint32_t size;
  uint32_t mark; /* 0, or as given to tessera_host_malloc_marked */
  void* start;
  uint64_t bytes;      /* as requested */
  uint64_t generation; /* never the same for two blocks */
} tessera_host_info;

/* Cheap. Errors: NOT_FOUND if no live block contains `address`. */
TESSERA_API tessera_result tessera_host_query(tessera_allocator* allocator, const void* address,
                                              tessera_host_info* info);

#ifdef __cplusplus
}
#endif

#endif
