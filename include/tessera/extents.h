/* Parts of a block. Programs take arenas and cut tensors out of them; where Tessera knows the cuts, work fetches
 * what it uses and not the whole arena, and the arena may be larger than the device.
 *
 * Blocks of 256 MiB or more have parts of 32 to 64 MiB, which are fetched and evicted one by one. Smaller blocks,
 * and blocks with a recompute callback, are always fetched as a whole; these calls accept them all the same.
 *
 * Blocks that are mapped side by side (mapping.h) are used as one, however small. Their extents are those of the
 * reservation, counted from its first byte, and end when another block is mapped there, or none is.
 *
 * Thread safety: as tessera.h. */
#ifndef TESSERA_EXTENTS_H
#define TESSERA_EXTENTS_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tessera_extent {
  uint64_t offset; /* from the first byte of the block */
  uint64_t bytes;
} tessera_extent;

/* Declares that these byte ranges of the block that contains `address` are separate objects. From now on an address
 * in an extent means that extent, in announced and in observed work, and an address in none of them means only the
 * part of the block that it is in. Replaces earlier extents; without any (`count` 0) the block is one object again,
 * as it is when it is freed. At most 1048576, in any order. May wait for launches that other threads are making.
 * Errors: NOT_FOUND if no live block contains `address`; INVALID_ARGUMENT for an extent that is empty or not inside
 * the block, and for two that overlap; BUSY if such a launch does not return. */
TESSERA_API tessera_result tessera_extents_set(tessera_allocator* allocator, tessera_address address,
                                               const tessera_extent* extents, size_t count);

/* Bytes that work uses. 0 bytes: the object that contains the address, which is its extent or its block. */
typedef struct tessera_range {
  tessera_address address;
  uint64_t bytes;
} tessera_range;

/* Like tessera_use_begin, for work of which the length is known, such as a copy: only these bytes have to be in
 * device memory for it, whatever extents there are. At most 4096 ranges. Errors: as tessera_use_begin. */
TESSERA_API tessera_result tessera_use_begin_ranges(tessera_allocator* allocator, const tessera_range* ranges,
                                                    size_t count, tessera_stream stream, tessera_access access,
                                                    tessera_use* use);

/* The three calls below are for an allocator that cuts objects from its blocks as it goes. An addition or removal takes
 * well below a microsecond for objects of up to a gigabyte, and no lock that a launch takes, but for the first addition
 * in a block (or a reservation). It may be made where the caller holds a lock of its own, as long as no launch waits
 * for that lock. */

/* These objects are live from now on, and so is nothing else in their blocks, but for what is added later. From then on
 * an address means the object that contains it, and an address in none only the part of the block that it is in; so the
 * first call for a block has to have all objects that work may use already. If one overlaps another, the caller's view
 * is wrong, and the block stays one object (tessera_extents_keep_whole). Extents that were set end. What is in no live
 * block, or has no bytes, is left out; an object that fills its block says nothing. Objects end with their block, or
 * with the handle mapped there. Errors: BUSY as tessera_extents_set, and then the block stays one object until the next
 * addition. */
TESSERA_API tessera_result tessera_extents_add(tessera_allocator* allocator, const tessera_range* objects,
                                               size_t count);
/* The objects that begin at these addresses have been freed. Others are left out. */
TESSERA_API tessera_result tessera_extents_remove(tessera_allocator* allocator, const tessera_address* addresses,
                                                  size_t count);
/* The block is one object until it ends, whatever is added: its memory is used after it was freed, as that of a graph
 * is. Errors: NOT_FOUND. */
TESSERA_API tessera_result tessera_extents_keep_whole(tessera_allocator* allocator, tessera_address address);

#ifdef __cplusplus
}
#endif

#endif
