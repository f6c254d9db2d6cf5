/* Attributes of memory pools, of CUmemPool_attribute, since CUDA 13.2, for builds with an older cuda.h.
 *
 * Thread safety: declarations only.
 */
#ifndef TESSERA_SHIM_CUDA_NEWER_POOLS_H
#define TESSERA_SHIM_CUDA_NEWER_POOLS_H

#include <assert.h>
#include <cuda.h>

/* The last one: 13.4. */
enum {
  TESSERA_MEMPOOL_ATTR_ALLOCATION_TYPE = 9,
  TESSERA_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES = 10,
  TESSERA_MEMPOOL_ATTR_LOCATION_ID = 11,
  TESSERA_MEMPOOL_ATTR_LOCATION_TYPE = 12,
  TESSERA_MEMPOOL_ATTR_MAX_POOL_SIZE = 13,
  TESSERA_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED = 14,
  TESSERA_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID = 15
};
#if CUDA_VERSION >= 13040
static_assert(CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID == (int)TESSERA_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID, "as in cuda.h");
#endif

#endif
