/* Blocks that a program maps itself: what the preload library makes of cuMemCreate, cuMemAddressReserve and cuMemMap.
 *
 * A mappable block has an address of its own that no work uses, until it is moved to addresses that were reserved. Its
 * bytes move along, without a copy, and it is evicted and fetched like any other block. tessera_free refuses it.
 *
 * Blocks that do not fill their reservation are used together: an address there means all of them, or where they do not
 * fit on the device, the block that it is in and as many of the nearest as fit (tessera_extents_set tells more). A pin
 * means all of them too, until it ends or none is mapped there.
 * Sizes are in bytes, and multiples of TESSERA_MAPPABLE_PAGE.
 *
 * Thread safety: any thread. Errors of all functions: INVALID_ARGUMENT for null, NOT_FOUND for an address that is not
 * the first byte of such a block, or reservation. */
#ifndef TESSERA_MAPPING_H
#define TESSERA_MAPPING_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_MAPPABLE_PAGE ((size_t)2 << 20)

/* Reserves addresses in the heap of the device, aligned to 32 MiB. Errors: OUT_OF_MEMORY if there are no such addresses
 * left; those of tessera_malloc. */
TESSERA_API tessera_result tessera_addresses_reserve(tessera_allocator* allocator, int device, size_t bytes,
                                                     tessera_address* address);
/* Errors: BUSY while a block is mapped there. */
TESSERA_API tessera_result tessera_addresses_release(tessera_allocator* allocator, tessera_address address);

/* Makes a block without device memory. Its tag is the calling thread's (tessera_tag_push). Errors: those of
 * tessera_malloc. */
TESSERA_API tessera_result tessera_mappable_create(tessera_allocator* allocator, int device, size_t bytes,
                                                   tessera_address* address);
/* Waits for work that uses the block. Errors: BUSY while a call in progress uses it, and it stays. */
TESSERA_API tessera_result tessera_mappable_destroy(tessera_allocator* allocator, tessera_address address);
/* Moves the block to reserved addresses, where its bytes are in device memory on return if there is room; to 0: to an
 * address of its own. Waits for work that uses the block; pins end. `now` is set to its address. Errors:
 * INVALID_ARGUMENT unless all of the addresses are reserved and free; BUSY as above; NOT_SUPPORTED for a block that
 * moves in parts (extents.h) and would not fill the reservation; with automatic eviction off, OUT_OF_MEMORY if there
 * is no room. The block is where it was then. */
TESSERA_API tessera_result tessera_mappable_move(tessera_allocator* allocator, tessera_address address,
                                                 tessera_address to, tessera_address* now);

#ifdef __cplusplus
}
#endif

#endif
