/* Tessera: a CUDA caching allocator whose heap is larger than the GPU. START HERE.
 *
 * A block keeps one device address for life. The bytes behind it move between device memory,
 * pinned host memory and a spill file; work that is announced by tessera_use_begin (or watched by
 * the preload library) always finds its blocks in device memory.
 *
 * Conventions
 *  1. Objects are opaque; tessera_X_create makes one and tessera_X_destroy ends it. Whoever
 *     creates, destroys. Destroying NULL does nothing.
 *  2. A call that can fail returns a tessera_result. After a failure nothing has changed, and
 *     tessera_last_error() gives this thread a sentence about it.
 *  3. Sizes are bytes; a device address is a uint64_t (a CUdeviceptr), a stream a void* (a
 *     CUstream; NULL is the legacy default stream).
 *  4. A struct that Tessera fills starts with `size`: set it to sizeof the struct before the call.
 *     Fields are only ever added at the end.
 *  5. Strings passed in are copied; strings returned live until the thread's next Tessera call.
 *  6. Out parameters are written on success only, and may not be NULL.
 *  7. Costs: "cheap" takes no lock and makes no driver call in the common case; "may wait" can
 *     block on copies or on work queued by the program.
 *
 * Thread safety: every call may be made from any thread, also on the same object, except that
 * nothing may run beside the destroy of its object.
 */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include <stddef.h>
#include <stdint.h>

#include "tessera/export.h"
#include "tessera/status.h"
#include "tessera/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tessera_options tessera_options;
typedef struct tessera_allocator tessera_allocator;
typedef uint64_t tessera_address;
typedef void* tessera_stream;

/* In place of a stream: the caller has made sure that no queued work uses the block any more. */
#define TESSERA_NO_STREAM ((tessera_stream)(intptr_t)-1)

/* ---- options --------------------------------------------------------------------------------
 * Every option of the table in docs/tuning.md by its name, value as text: "device-memory",
 * "4GiB". A new object holds the defaults overridden by the TESSERA_... environment. */

TESSERA_API tessera_result tessera_options_create(tessera_options** options);
TESSERA_API void tessera_options_destroy(tessera_options* options);
/* Errors: NOT_FOUND for no such option, INVALID_ARGUMENT for a value it does not take. */
TESSERA_API tessera_result tessera_options_set(tessera_options* options, const char* name, const char* value);
/* Whether the values can hold together, which no single one tells. tessera_allocator_create checks it
 * too. Errors: INVALID_ARGUMENT naming those that cannot. */
TESSERA_API tessera_result tessera_options_check(const tessera_options* options);
/* Bytes of a size as options take it: "4GiB", "80GB", "4096". Errors: INVALID_ARGUMENT. */
TESSERA_API tessera_result tessera_parse_size(const char* text, uint64_t* bytes);
/* The value as tessera_options_set takes it, with the ending zero. Errors: NOT_FOUND for no such
 * option, INVALID_ARGUMENT when it needs more than `capacity` bytes. */
TESSERA_API tessera_result tessera_options_get(const tessera_options* options, const char* name,
                                               char* value, size_t capacity);

/* ---- the allocator --------------------------------------------------------------------------- */

/* Opens the CUDA driver and serves its devices, each set up at its first use. `options` may be
 * NULL for the defaults and is not kept. Errors: NOT_SUPPORTED without a driver or without virtual
 * memory management. */
TESSERA_API tessera_result tessera_allocator_create(const tessera_options* options, tessera_allocator** allocator);
/* Waits for its moves, then gives everything back. REQUIRES: no queued work uses its blocks. */
TESSERA_API void tessera_allocator_destroy(tessera_allocator* allocator);

/* A block of at least `bytes` (> 0), aligned to 512, for use on `stream` at once. Contents
 * undefined. Cheap when cached, else may wait. Errors: OUT_OF_MEMORY after the steps that
 * docs/architecture.md numbers. */
TESSERA_API tessera_result tessera_malloc(tessera_allocator* allocator, int device, size_t bytes,
                                          tessera_stream stream, tessera_address* address);
/* Stream-ordered: work queued on `stream` before the call may still use the block; blocks freed on
 * a stream are reused on it at once, elsewhere when that work is done. Cheap.
 * Errors: NOT_FOUND for an address that is not the start of a live block (double free too). */
TESSERA_API tessera_result tessera_free(tessera_allocator* allocator, tessera_address address, tessera_stream stream);
/* The same for a block that several streams use: it is reused when the work queued so far on all of
 * the `count` (at most 4096) streams is done. None of them waits for another. */
TESSERA_API tessera_result tessera_free_after(tessera_allocator* allocator, tessera_address address,
                                              const tessera_stream* streams, size_t count);
/* Gives cached blocks and unused frames back to the driver. May wait. */
TESSERA_API tessera_result tessera_trim(tessera_allocator* allocator);

/* ---- using blocks ---------------------------------------------------------------------------- */

typedef enum tessera_access { TESSERA_READ = 1, TESSERA_WRITE = 2 } tessera_access;

/* The caller's own room for one announced use; its contents are Tessera's. */
typedef struct tessera_use {
  uint64_t opaque[4];
} tessera_use;

/* Announces that the work which this thread queues on `stream` before tessera_use_end uses the
 * blocks that hold these addresses (interior ones too; foreign ones are ignored; at most 4096).
 * On return they are in device memory as far as `stream` is concerned, and stay until the work is
 * done. Cheap when all are there, else may wait. Errors: OUT_OF_MEMORY when they do not fit into
 * device memory together, DATA_LOSS, IO.
 * The thread must call tessera_use_end soon, and make no other Tessera call but
 * tessera_last_error in between. */
TESSERA_API tessera_result tessera_use_begin(tessera_allocator* allocator,
                                             const tessera_address* addresses, size_t count,
                                             tessera_stream stream, tessera_access access, tessera_use* use);
TESSERA_API void tessera_use_end(tessera_allocator* allocator, tessera_use* use);

/* A use without work: counts as an access now, and brings the block in for `stream`. It may leave
 * again any time; tessera_use_begin or a pin is what keeps it. Cheap when there. */
TESSERA_API tessera_result tessera_touch(tessera_allocator* allocator, tessera_address address,
                                         tessera_stream stream, tessera_access access);

/* ---- hints ----------------------------------------------------------------------------------
 * They change when bytes move, never what a program computes. */

/* Starts bringing blocks in, as far as there is room without pushing out what is in use. */
TESSERA_API tessera_result tessera_prefetch(tessera_allocator* allocator,
                                            const tessera_address* addresses, size_t count);
/* Moves blocks out now. May wait. Errors: BUSY for a pinned or just used one. */
TESSERA_API tessera_result tessera_evict(tessera_allocator* allocator,
                                         const tessera_address* addresses, size_t count);
/* Brings the block in and keeps it there until as many unpins. May wait. */
TESSERA_API tessera_result tessera_pin(tessera_allocator* allocator, tessera_address address);
/* Errors: INVALID_ARGUMENT when it is not pinned. */
TESSERA_API tessera_result tessera_unpin(tessera_allocator* allocator, tessera_address address);
/* Who leaves, from now on, on every device: a name that the option "policy" takes. What was learned of the program
 * stays, so it plans at once; moves under way end as they would. May wait until a rehearsal for the one before is
 * broken off. Errors: INVALID_ARGUMENT for a name that the option does not take. */
TESSERA_API tessera_result tessera_set_policy(tessera_allocator* allocator, const char* name);

/* Blocks that this thread allocates until the matching pop carry `tag` (at most 31 characters);
 * statistics add up by tag, and blocks of different tags share no page. */
TESSERA_API tessera_result tessera_tag_push(tessera_allocator* allocator, const char* tag);
TESSERA_API tessera_result tessera_tag_pop(tessera_allocator* allocator);

/* ---- sleep and wake --------------------------------------------------------------------------
 * A whole tag out of device memory and back, at the speed of the link. It is no state of a block:
 * announced work that uses one which is away brings that block back and no other; one may be freed,
 * pinned, or allocated anew in between. Work that nobody announces must not use what is away:
 * wake its tag first. */

typedef struct tessera_moved {
  uint32_t size;
  uint32_t reserved;
  uint64_t moved_bytes;  /* of pages that left, or came back */
  uint64_t stayed_bytes; /* sleep: pinned, exposed, or used meanwhile; wake: no room for them */
} tessera_moved;

/* Moves every block with `tag` out, after the work queued on it, and gives the device memory back
 * to the driver. "" means the blocks without a tag, NULL all blocks. May wait.
 * Errors: NOT_FOUND when nothing ever had the tag; OUT_OF_MEMORY when host memory and file have no
 * room: then some blocks have left and some have not, and all are as usable as before; IO. */
TESSERA_API tessera_result tessera_sleep(tessera_allocator* allocator, const char* tag, tessera_moved* moved);
/* Brings them back; other blocks may have to leave for them, but none with the tag. May wait.
 * What finds no room stays away until it is used. Errors: NOT_FOUND, DATA_LOSS, IO. */
TESSERA_API tessera_result tessera_wake(tessera_allocator* allocator, const char* tag, tessera_moved* moved);

/* A word about where the program is, for traces and learners: kind "iteration", and a number. */
TESSERA_API tessera_result tessera_mark(tessera_allocator* allocator, const char* kind, uint64_t number);

/* ---- blocks that can be remade ---------------------------------------------------------------
 * A block whose bytes a callback can make again need not be copied when it leaves: recomputed
 * activations, and weights that are read again from the program's own model file. */

/* Queues work on `stream` that writes all `bytes` of the block at `address`, and returns 0; or an
 * error code of the driver, which the call that needs the block returns then. It is called on the
 * thread of that call, any that uses blocks, with no lock of Tessera's held; it waits for nothing that
 * another thread may hold while it calls Tessera, and throws nothing. Of Tessera's calls it may make
 * tessera_use_begin, tessera_use_end and tessera_touch, for what its work reads: those blocks come
 * in, or are remade themselves, and have to fit into device memory beside all that the call needs. */
typedef int (*tessera_regenerate)(void* context, tessera_address address, size_t bytes,
                                  tessera_stream stream);

/* `regenerate` makes the bytes that the block has once the work announced so far is done, in `cost_ns`
 * of the device's time, as long as what it reads stays as it is. The next announced write ends that
 * until it is set again (announce reads as TESSERA_READ); so do the end of the block, and work that
 * nobody announces. It occupies the stream that needs the block; calls without one (pin, wake) wait
 * for a stream of Tessera's own. When it fails, the call returns the error and the block stays away;
 * the next call tries again. Blocks that share pages (up to 1 MiB; up to 16 MiB of many made in a row,
 * only filled meanwhile) and host-backed ones are copied. NULL: not any more. Errors: NOT_FOUND when no
 * live block holds `address`; BUSY for NULL while only the callback can bring the bytes back. */
TESSERA_API tessera_result tessera_set_regenerate(tessera_allocator* allocator, tessera_address address,
                                                  tessera_regenerate regenerate, void* context,
                                                  uint64_t cost_ns);

/* ---- looking -------------------------------------------------------------------------------- */

typedef struct tessera_block_info {
  uint32_t size;
  int32_t device;
  tessera_address address; /* of the block's first byte */
  uint64_t bytes;          /* what was asked for */
  uint64_t capacity;       /* what the block has */
  uint64_t generation;     /* grows with each reuse of the address */
  uint64_t device_bytes;   /* how much of its pages is in which tier now */
  uint64_t host_bytes, file_bytes;
  uint32_t pins;
  char tag[32];
  uint64_t peer_bytes;
} tessera_block_info;

/* Cheap. Errors: NOT_FOUND when no live block holds `address`. */
TESSERA_API tessera_result tessera_query(tessera_allocator* allocator, tessera_address address,
                                         tessera_block_info* info);

/* Sums over all devices; docs/stats.md explains every field and what adds up to what. */
typedef struct tessera_stats {
  uint32_t size;
  uint32_t devices;
  uint64_t live_blocks, live_bytes, peak_live_bytes; /* bytes as asked for */
  uint64_t allocations, frees, cache_hits;
  uint64_t reserved_bytes; /* pages of all runs, live or cached */
  uint64_t device_capacity, device_used, device_spare, device_peak;
  uint64_t host_capacity, host_used, host_peak;
  uint64_t file_capacity, file_used, file_peak;
  uint64_t bytes_in, bytes_out, bytes_file_read, bytes_file_written; /* in: host to device */
  uint64_t fetches, evictions;                 /* pages */
  uint64_t forwards, clean_evictions, discards; /* page-outs dropped: used again; of 0 bytes: valid copy; dead */
  uint64_t stalls, stall_ns, late_fetches; /* calls that had to wait for a move, how long; pages that came late */
  uint64_t launches, uses; /* announced uses; blocks in them */
  uint64_t pinned_bytes, exposed_bytes;
  uint64_t graph_peak; /* most that graphs allocated by themselves: outside of heap and budget */
  uint64_t dropped_bytes, remakes, remade_bytes, remake_ns; /* left to be remade; what was, its cost */
  uint64_t checks, checks_changed, unchanged_evictions, unchanged_bytes; /* asked if changed; had; left for nothing */
  uint64_t peer_capacity, peer_used, peer_peak, bytes_peer_in, bytes_peer_out; /* lent by other devices */
} tessera_stats;

TESSERA_API tessera_result tessera_get_stats(tessera_allocator* allocator, tessera_stats* stats);
/* The same and more as one JSON object. Writes up to `capacity` bytes with the ending zero;
 * `needed` gets the size for all of it. `buffer` may be NULL when capacity is 0. */
TESSERA_API tessera_result tessera_stats_json(tessera_allocator* allocator, char* buffer,
                                              size_t capacity, size_t* needed);
/* Writes the events of the last moves as a Chrome/Perfetto trace. Errors: IO. */
TESSERA_API tessera_result tessera_write_timeline(tessera_allocator* allocator, const char* path);

/* This thread's last failure as a sentence, "" if none. */
TESSERA_API const char* tessera_last_error(void);
/* The CUresult behind this thread's last TESSERA_DRIVER, else 0. */
TESSERA_API int tessera_last_driver_code(void);
/* Bytes of RAM that the machine and its control groups leave this process, 0 if unknown. */
TESSERA_API uint64_t tessera_available_memory(void);
TESSERA_API const char* tessera_version(void); /* "0.1.0" */

#ifdef __cplusplus
}
#endif

#endif
