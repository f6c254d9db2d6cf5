/* Functions for interposers, in addition to tessera.h. An interposer sees raw launches without announcements.
 *
 * The conventions of tessera.h hold. The preload library in shim/preload is the reference user.
 *
 * Thread safety: as tessera.h. */
#ifndef TESSERA_INTERPOSE_H
#define TESSERA_INTERPOSE_H

#include "tessera/extents.h"
#include "tessera/host.h"
#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the real entry point of the CUDA driver for an exported name such as "cuMemMap"; NULL if there is
 * none. Must not pass through the interposer's own hooks. */
typedef void* (*tessera_resolver)(const char* name, void* user);

/* An allocator created from these options calls the driver only through `resolver`. */
TESSERA_API tessera_result tessera_options_set_resolver(tessera_options* options, tessera_resolver resolver,
                                                        void* user);

/* Every managed address of every device is in [low, high), so one compare rejects most others. Constant once a
 * device was used; 0,0 before. Cheap. */
TESSERA_API void tessera_managed_range(tessera_allocator* allocator, tessera_address* low, tessera_address* high);
/* Whether the address is managed, in a live block or not. The range alone does not decide: other memory may lie
 * between the heaps of two devices. Cheap. */
TESSERA_API int tessera_manages(tessera_allocator* allocator, tessera_address address);

/* Like tessera_use_begin, for work with unknown operands: every naturally aligned 8-byte word of the `bytes` at
 * `words` that points into a live block names that block. `name` (may be NULL) is the kernel's name for traces
 * and for learning, which identifies the kernel by the pointer: it must be the same for the same kernel. Access
 * is assumed to be WRITE. From the first such call on, work may use blocks that it does not name: a block is
 * evicted only after all work queued on its device so far, and stays for a few launches after its last use
 * (option `grace`). Errors: additionally NOT_FOUND if a word is managed (tessera_manages) but in no live block:
 * it names nothing, or a block beside it, which only the producer of the words may know. The call can be
 * repeated without that word. */
TESSERA_API tessera_result tessera_use_begin_words(tessera_allocator* allocator, const void* words, size_t bytes,
                                                   tessera_stream stream, const char* name, tessera_use* use);
/* Between the begin and the end of such a use: its kernel was given these addresses and may do no more than write
 * them down for others. So it does not show that kernels which use those blocks are given their addresses
 * (option `unhinted-access`). */
TESSERA_API void tessera_note_handed(tessera_allocator* allocator, const tessera_address* addresses, size_t count);
/* The same for words of which some are less likely to be addresses: a pair of small numbers can look like one.
 * The first `certain` words are treated as addresses, and so is each of the next `likely` that equals the start
 * of a block. The remaining `likely` words and the `maybe` words after them are only fetched as far as they fit
 * in device memory beside the others, in order; whether they fit does not affect the result. Errors: also
 * NOT_FOUND as above, for the first `certain`. */
TESSERA_API tessera_result tessera_use_begin_graded(tessera_allocator* allocator, const tessera_address* words,
                                                    size_t certain, size_t likely, size_t maybe, tessera_stream stream,
                                                    const char* name, tessera_use* use);
/* Like tessera_use_begin_words, for a launch that names no block but may still reach one by an address read
 * from memory or from a global. No block leaves device memory before such work is complete, if the work was
 * queued when the eviction began. `device` is the stream's; -1 means unknown, and the launch then counts on
 * every device in use. Cheap. */
TESSERA_API tessera_result tessera_use_begin_unnamed(tessera_allocator* allocator, int device, tessera_stream stream,
                                                     const char* name, tessera_use* use);
/* Declares that kernels with this name wait for other kernels or for the program, as those of a collective do.
 * `name` is the same pointer that their launches pass. While one is running, a call that needs room waits less
 * long for other work. */
TESSERA_API void tessera_expect_waiting(tessera_allocator* allocator, const char* name);
/* Whether evicted blocks stay reachable at their addresses, in host memory (option `unhinted-access`):
 * unannounced work that uses them is then slow but correct. Cheap. */
TESSERA_API int tessera_is_host_backed(tessera_allocator* allocator);
/* Like tessera_use_begin, for a call that returns only when its work is complete (cuMemcpy). It may take long,
 * so it holds its blocks instead of the launch gate. Also ended by tessera_use_end. Meanwhile the thread may
 * announce further uses of the same blocks, and pin them, since they are present. */
TESSERA_API tessera_result tessera_use_begin_blocking(tessera_allocator* allocator, const tessera_address* addresses,
                                                      size_t count, tessera_stream stream, tessera_access access,
                                                      tessera_use* use);

/* The same by ranges, as tessera_use_begin_ranges (extents.h). */
TESSERA_API tessera_result tessera_use_begin_blocking_ranges(tessera_allocator* allocator, const tessera_range* ranges,
                                                             size_t count, tessera_stream stream, tessera_access access,
                                                             tessera_use* use);

/* For a driver call that asks what memory lies at addresses without accessing it, such as the instantiation of a
 * graph with copies: until the matching tessera_placeholders_end, device memory without contents is mapped where
 * pages of these blocks are away. Nothing moves; announced uses find their bytes as always. A driver call that
 * fails nevertheless, because another thread evicted a block meanwhile, may be repeated with placeholders of its own.
 * Addresses in no live block are ignored. Errors: OUT_OF_MEMORY, the driver's; no end is needed then. */
TESSERA_API tessera_result tessera_placeholders_begin(tessera_allocator* allocator, const tessera_address* addresses,
                                                      size_t count);
TESSERA_API void tessera_placeholders_end(tessera_allocator* allocator);

/* The block's address is no longer tracked: the block stays in device memory until it is freed, and statistics
 * list it under `reason` (a string literal, e.g. "cuIpcGetMemHandle"). May wait. Errors: as tessera_pin. */
TESSERA_API tessera_result tessera_expose(tessera_allocator* allocator, tessera_address address, const char* reason);

/* Call before the program waits for work of its own, for example in cuStreamSynchronize, and tessera_note_waited
 * after it. Work that was queued when the wait began is complete when it returns with success, so no block has
 * to wait for that work any more, whatever is queued after it. `device` is the stream's. Returns the value to
 * pass to tessera_note_waited; 0 means that nothing is known and nothing is to be noted. Cheap. */
TESSERA_API uint64_t tessera_before_wait(tessera_allocator* allocator, int device);
/* Call after the wait. TESSERA_NO_STREAM: it waited for all streams of the context on which the device's blocks
 * are used. */
TESSERA_API void tessera_note_waited(tessera_allocator* allocator, int device, tessera_stream stream, uint64_t before);
/* Like tessera_use_end, if all of the work is already complete. */
TESSERA_API void tessera_use_end_over(tessera_allocator* allocator, tessera_use* use);
/* Like tessera_pin, for an address that the program stored where no call shows its use, and which it may
 * overwrite. The block stays in device memory until the matching number of tessera_unkeep, and statistics list
 * it under `reason` (a string literal) meanwhile. May wait. Errors: also OUT_OF_MEMORY if pinned blocks would
 * leave launches too little of the device: less than the largest launch so far, or half of the device if that
 * is smaller. */
TESSERA_API tessera_result tessera_keep(tessera_allocator* allocator, tessera_address address, const char* reason);
/* The contents count as written by then. Errors: INVALID_ARGUMENT if the block is not kept. */
TESSERA_API tessera_result tessera_unkeep(tessera_allocator* allocator, tessera_address address);

/* Returns when all work queued on the device is complete. Errors: the driver's. The driver refuses while a
 * stream of the device is being captured into a graph, and the call may invalidate the capture. */
TESSERA_API tessera_result tessera_synchronize(tessera_allocator* allocator, int device);

/* The values for cuMemGetInfo: total is the device's memory, free is what the program can still allocate before
 * anything must be evicted. It is the same before and after the device's first block: the budget, or less if
 * the driver has given memory to others, minus live blocks. */
TESSERA_API tessera_result tessera_memory_info(tessera_allocator* allocator, int device, uint64_t* free_bytes,
                                               uint64_t* total_bytes);
/* The same for memory from the driver itself (in a second context): what the driver has free plus what Tessera
 * holds unused and would yield. */
TESSERA_API tessera_result tessera_memory_beside(tessera_allocator* allocator, int device, uint64_t* free_bytes,
                                                 uint64_t* total_bytes);
/* Sets `budget` to the device memory that an allocator made from these options would report for a device on
 * which the driver reports `free_bytes` of `total_bytes` as free.
 * Errors: NOT_SUPPORTED where the options disable Tessera, or report more memory than the device has. */
TESSERA_API tessera_result tessera_options_device_budget(const tessera_options* options, int device,
                                                         uint64_t free_bytes, uint64_t total_bytes, uint64_t* budget);

/* Sets `number` to the number of a tag, for tessera_malloc_tagged with this allocator. Errors: INVALID_ARGUMENT if the
 * tag has more than 31 characters, or there are too many tags. */
TESSERA_API tessera_result tessera_tag_number(tessera_allocator* allocator, const char* tag, uint32_t* number);
/* Like tessera_malloc. If the thread has pushed no tag, the block carries the tag with this number; 0 is none. */
TESSERA_API tessera_result tessera_malloc_tagged(tessera_allocator* allocator, int device, size_t bytes,
                                                 tessera_stream stream, uint32_t number, tessera_address* address);

/* The driver is out of memory for a call of the program on the device. Tessera returns its unused memory there
 * to the driver. If that leaves the driver with less than `wanted` bytes, blocks are evicted until it has them,
 * unless evicting all of them would not suffice. 0: evict nothing. TESSERA_YIELD_UNKNOWN: the usual need of a
 * call that does not state it. TESSERA_YIELD_HALF: half of the memory in use, for a call that needs more.
 * `yielded` is set to the bytes returned. Unless it is 0, the caller repeats its call and then calls
 * tessera_yield_end. In between Tessera takes no more memory of the device than it has; later it takes free
 * memory again when it needs it. May wait for work on the device. REQUIRES: the thread is not inside a use
 * (tessera_use_begin). */
#define TESSERA_YIELD_UNKNOWN UINT64_MAX
#define TESSERA_YIELD_HALF (UINT64_MAX - 1)
TESSERA_API tessera_result tessera_yield_begin(tessera_allocator* allocator, int device, uint64_t wanted,
                                               uint64_t* yielded);
TESSERA_API tessera_result tessera_yield_end(tessera_allocator* allocator, int device);
/* Returns held but unused device memory to the driver until at most `keep` bytes are held. Moves nothing. */
TESSERA_API tessera_result tessera_trim_device(tessera_allocator* allocator, int device, uint64_t keep);
/* The context of the device ends, and with it all of its blocks. No work may use them any more, and no call
 * about the device may follow. */
TESSERA_API void tessera_end_device(tessera_allocator* allocator, int device);
/* Returns up to `bytes` of held but unused device memory to the driver. Moves nothing. */
TESSERA_API tessera_result tessera_trim_device_by(tessera_allocator* allocator, int device, uint64_t bytes);
/* The program freed memory of the driver itself. If Tessera has yielded memory, it checks for free memory again
 * the next time it is short. Cheap. */
TESSERA_API void tessera_expect_device_memory(tessera_allocator* allocator);

/* tessera_host_malloc with a number that tessera_host_query returns. */
TESSERA_API tessera_result tessera_host_malloc_marked(tessera_allocator* allocator, size_t bytes, uint32_t mark,
                                                      void** memory);
/* Every block of tessera_host_malloc is in [low, high), and nothing else is. Constant once there was a block; 0,0
 * before. Cheap. */
TESSERA_API void tessera_host_range(tessera_allocator* allocator, const void** low, const void** high);
/* The driver has no pinned host memory left for a call of the program. Tessera drops host copies of blocks that are on
 * the device, returns all pinned memory that it does not use, and pins no more ahead of need. `yielded` is set to the
 * bytes returned; unless it is 0, the caller repeats its call. May wait. */
TESSERA_API tessera_result tessera_host_yield(tessera_allocator* allocator, uint64_t* yielded);
/* Ends all blocks of tessera_host_malloc, before the context in which they were pinned ends. REQUIRES: no work uses
 * them, and no call on them is being made. */
TESSERA_API void tessera_host_end(tessera_allocator* allocator);
/* The bytes of pinned host memory that the driver serves now, for the statistics. Cheap. */
typedef enum tessera_beside {
  TESSERA_BESIDE_HOST,       /* cuMemHostAlloc, cuMemAllocHost */
  TESSERA_BESIDE_REGISTERED, /* cuMemHostRegister */
  TESSERA_BESIDE_KINDS
} tessera_beside;
TESSERA_API void tessera_note_beside(tessera_allocator* allocator, tessera_beside kind, uint64_t bytes);
/* Device memory of the program that the driver has served: it is outside the heap and does not move. The statistics
 * list it by kind, and one line reports it when more than half of the program's memory on a device is outside, and
 * that is at least an eighth of the device and TESSERA_OUTSIDE_LEAST bytes. The texts are copied. */
#define TESSERA_OUTSIDE_LEAST (64u << 20)
typedef struct tessera_outside {
  size_t size; /* of this struct */
  int device;
  const char* kind;       /* as in the statistics: "virtual_memory" */
  uint64_t bytes;         /* of this kind on this device now */
  const char* remedy;     /* what the user can change, for the line */
  const char* first_call; /* the first call that allocated such memory */
  int imported;           /* 1: memory of another process, listed but not counted */
} tessera_outside;
TESSERA_API tessera_result tessera_set_outside(tessera_allocator* allocator, const tessera_outside* outside);

/* The allocator shared by all front ends in this process: the preload library's if it is loaded, else one
 * created at the first call from the environment's options, with tessera_set_automatic off. Never destroy it,
 * and do not store it: it may end with its context. Cheap. Call this after each allocation as well, so that the
 * preload library learns the new addresses. Errors: NOT_READY with the preload library before a context is
 * current; those of create. */
TESSERA_API tessera_result tessera_shared(tessera_allocator** allocator);
/* Whether the shared allocator exists, so that its options are final. Does not create it. Cheap. */
TESSERA_API int tessera_shared_exists(void);
/* Makes this the shared allocator; NULL when it ends. For its creator only. */
TESSERA_API void tessera_share(tessera_allocator* allocator);
/* On: blocks are evicted automatically when room is short. This is correct if all work on them is announced or
 * observed, and is the initial state of every other allocator. Off: blocks are evicted only by tessera_evict
 * and tessera_sleep, which first wait for all work on the device; so does switching on. While off, a caller
 * must wake or pin an evicted block before using it. Blocks with an eviction in flight when this is switched
 * off stay on the device. */
TESSERA_API tessera_result tessera_set_automatic(tessera_allocator* allocator, int on);

/* Writes the outputs that the options request at the end of a program: statistics, timeline, history, trace. */
TESSERA_API tessera_result tessera_finish(tessera_allocator* allocator);

#ifdef __cplusplus
}
#endif

#endif
