/* Tessera: a CUDA caching allocator with a heap larger than the GPU's memory. START HERE.
 *
 * A block keeps one device address for life. Its bytes move between device memory, pinned host memory and a
 * spill file. Work that is announced by tessera_use_begin (or observed by the preload library) always finds its
 * blocks in device memory.
 *
 * Conventions
 *  1. Objects are opaque; tessera_X_create makes one and tessera_X_destroy ends it. The creator destroys.
 *     Destroying NULL does nothing.
 *  2. A call that can fail returns a tessera_result. After a failure nothing has changed, and
 *     tessera_last_error() describes it on the same thread.
 *  3. Sizes are bytes; a device address is a uint64_t (a CUdeviceptr), a stream is a void* (a CUstream; NULL is
 *     the legacy default stream).
 *  4. A struct that Tessera fills starts with `size`: set it to sizeof the struct before the call. New fields
 *     are only added at the end.
 *  5. Strings passed in are copied; strings returned are valid until the thread's next Tessera call.
 *  6. Out parameters are written on success only, and must not be NULL.
 *  7. Costs: "cheap" takes no lock and makes no driver call in the common case; "may wait" can block on copies
 *     or on work queued by the program.
 *
 * Thread safety: all functions may be called from any thread, also on the same object, except that no call may
 * be concurrent with the destroy of its object. */
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

/* In place of a stream: the caller guarantees that no queued work uses the block any more. */
#define TESSERA_NO_STREAM ((tessera_stream)(intptr_t)-1)

/* ---- options --------------------------------------------------------------------------------
 * Every option of the table in docs/tuning.md, by name and with the value as text: "device-memory", "4GiB". A
 * new object holds the defaults, overridden by the TESSERA_... environment variables. */

TESSERA_API tessera_result tessera_options_create(tessera_options** options);
TESSERA_API void tessera_options_destroy(tessera_options* options);
/* Errors: NOT_FOUND for an unknown option, INVALID_ARGUMENT for a value it does not accept. */
TESSERA_API tessera_result tessera_options_set(tessera_options* options, const char* name, const char* value);
/* Checks that the values are consistent with each other. tessera_allocator_create checks this too. Errors:
 * INVALID_ARGUMENT naming the conflicting options. */
TESSERA_API tessera_result tessera_options_check(const tessera_options* options);
/* Parses a size as options accept it: "4GiB", "80GB", "4096". Errors: INVALID_ARGUMENT. */
TESSERA_API tessera_result tessera_parse_size(const char* text, uint64_t* bytes);
/* The one of `count` words that a misspelt `word` was probably meant to be, `word` itself if it is among them; NULL if
 * it is close to none. For command lines that offer options by name: leave out what all of them begin with ("--"). */
TESSERA_API const char* tessera_nearest_word(const char* word, const char* const* words, size_t count);
/* Writes the value in the form tessera_options_set accepts, including the terminating zero. Errors: NOT_FOUND
 * for an unknown option, INVALID_ARGUMENT if it needs more than `capacity` bytes. */
TESSERA_API tessera_result tessera_options_get(const tessera_options* options, const char* name, char* value,
                                               size_t capacity);

/* ---- the allocator --------------------------------------------------------------------------- */

/* Opens the CUDA driver and serves its devices; each is set up at its first use. `options` may be NULL for the
 * defaults; it is not retained. Errors: NOT_SUPPORTED without a driver or without virtual memory management. */
TESSERA_API tessera_result tessera_allocator_create(const tessera_options* options, tessera_allocator** allocator);
/* Waits for copies in flight, then releases all memory. REQUIRES: no queued work uses its blocks. */
TESSERA_API void tessera_allocator_destroy(tessera_allocator* allocator);

/* Returns a block of at least `bytes` (> 0), aligned to 512, ready for use on `stream`. Contents are undefined.
 * Cheap when cached, else may wait. Errors: OUT_OF_MEMORY after the steps numbered in docs/architecture.md. */
TESSERA_API tessera_result tessera_malloc(tessera_allocator* allocator, int device, size_t bytes, tessera_stream stream,
                                          tessera_address* address);
/* Stream-ordered: work queued on `stream` before the call may still use the block. It is reusable on that
 * stream at once, and on others when that work is complete. Cheap. Errors: NOT_FOUND unless `address` is the
 * start of a live block (so also for a double free). */
TESSERA_API tessera_result tessera_free(tessera_allocator* allocator, tessera_address address, tessera_stream stream);
/* The same for a block used on several streams: it is reusable when all work queued so far on the `count` (at
 * most 4096) streams is complete. No stream waits for another. */
TESSERA_API tessera_result tessera_free_after(tessera_allocator* allocator, tessera_address address,
                                              const tessera_stream* streams, size_t count);
/* Returns cached blocks and unused frames to the driver. May wait. */
TESSERA_API tessera_result tessera_trim(tessera_allocator* allocator);

/* ---- using blocks ---------------------------------------------------------------------------- */

typedef enum tessera_access { TESSERA_READ = 1, TESSERA_WRITE = 2 } tessera_access;

/* Storage for one announced use, supplied by the caller; its contents are private to Tessera. */
typedef struct tessera_use {
  uint64_t opaque[4];
} tessera_use;

/* Announces that the work this thread queues on `stream` before tessera_use_end uses the blocks that contain
 * these addresses. Interior addresses are allowed, foreign ones are ignored; at most 4096. On return the blocks
 * are in device memory from the view of `stream`, and stay there until that work is complete. Blocks that do not
 * fit there together are partly used in host memory, over the link, where the machine can do that. Cheap if all
 * are present, else may wait. Errors: OUT_OF_MEMORY if they do not fit either way, DATA_LOSS, IO. The thread must
 * call tessera_use_end soon, and no other Tessera function except tessera_last_error in between. */
TESSERA_API tessera_result tessera_use_begin(tessera_allocator* allocator, const tessera_address* addresses,
                                             size_t count, tessera_stream stream, tessera_access access,
                                             tessera_use* use);
TESSERA_API void tessera_use_end(tessera_allocator* allocator, tessera_use* use);

/* Call this before cuStreamDestroy for every stream that was passed to a call of this allocator, or the process may
 * crash: Tessera records events on a stream after the last call that names it, and a driver does not survive the use
 * of a destroyed stream. Waits for nothing. Not needed under the preload library, or once the allocator is
 * destroyed. */
TESSERA_API tessera_result tessera_retire_stream(tessera_allocator* allocator, tessera_stream stream);

/* A use without work: counts as an access, and fetches the block for `stream`. The block may be evicted again
 * at any time; only tessera_use_begin or a pin keeps it. Cheap if it is present. */
TESSERA_API tessera_result tessera_touch(tessera_allocator* allocator, tessera_address address, tessera_stream stream,
                                         tessera_access access);

/* ---- hints ----------------------------------------------------------------------------------
 * Hints change when bytes move, never the results of a program. */

/* Starts fetching blocks, as far as there is room without evicting blocks in use. */
TESSERA_API tessera_result tessera_prefetch(tessera_allocator* allocator, const tessera_address* addresses,
                                            size_t count);
/* Evicts blocks now. May wait. Errors: BUSY for a block that is pinned or was just used; NOT_READY if queued work on it
 * makes no progress for the time of option `patience`. */
TESSERA_API tessera_result tessera_evict(tessera_allocator* allocator, const tessera_address* addresses, size_t count);
/* Fetches the block and keeps it in device memory until the matching number of unpins. May wait. Errors: also
 * OUT_OF_MEMORY if the blocks of the device do not all fit in it and pinned ones would leave launches less than
 * 1/32 of it (at least 2 MiB, at most 512 MiB), or less than the largest launch so far, up to 1/16 of it. */
TESSERA_API tessera_result tessera_pin(tessera_allocator* allocator, tessera_address address);
/* Errors: INVALID_ARGUMENT if the block is not pinned. */
TESSERA_API tessera_result tessera_unpin(tessera_allocator* allocator, tessera_address address);
/* Switches the eviction policy on all devices. `name` is any value of the `policy` option. The learned
 * iteration is kept, so a new plan is available immediately; in-flight copies complete normally. May wait until
 * a simulation for the previous policy has stopped. Errors: INVALID_ARGUMENT for a name that the option does
 * not accept. */
TESSERA_API tessera_result tessera_set_policy(tessera_allocator* allocator, const char* name);

/* Blocks that this thread allocates until the matching pop carry `tag` (at most 31 characters). Statistics are
 * summed by tag, and blocks with different tags share no page. */
TESSERA_API tessera_result tessera_tag_push(tessera_allocator* allocator, const char* tag);
TESSERA_API tessera_result tessera_tag_pop(tessera_allocator* allocator);

/* ---- sleep and wake --------------------------------------------------------------------------
 * Evicts (sleep) or fetches (wake) all blocks with a tag at link speed. Sleeping is not a block state:
 * announcing work on a sleeping block fetches that block, and only that block. Blocks may be freed, pinned or
 * allocated in between. Work that is not announced must not use a sleeping block: wake its tag first. */

typedef struct tessera_moved {
  uint32_t size;
  uint32_t reserved;
  uint64_t moved_bytes;  /* in pages that were evicted, or fetched */
  uint64_t stayed_bytes; /* sleep: pinned, exposed, or used meanwhile; wake: no room */
} tessera_moved;

/* Evicts every block with `tag`, after the work queued on it, and returns the device memory to the driver. ""
 * means blocks without a tag, NULL all blocks. May wait. Errors: NOT_FOUND if no block ever had the tag;
 * OUT_OF_MEMORY if host memory and file are full: some blocks have then been evicted and others not, and all
 * are as usable as before; IO. */
TESSERA_API tessera_result tessera_sleep(tessera_allocator* allocator, const char* tag, tessera_moved* moved);
/* Fetches the blocks of a tag. Other blocks may be evicted for them, but none with this tag. May wait. Blocks
 * without room stay evicted until they are used. Errors: NOT_FOUND, DATA_LOSS, IO. */
TESSERA_API tessera_result tessera_wake(tessera_allocator* allocator, const char* tag, tessera_moved* moved);

/* Marks the program's progress, for traces and for learning: a kind such as "iteration", and a number. */
TESSERA_API tessera_result tessera_mark(tessera_allocator* allocator, const char* kind, uint64_t number);

/* ---- blocks that can be recomputed -----------------------------------------------------------
 * If a callback can recompute a block's bytes, the block can be evicted without a copy: recomputed activations,
 * and weights that are read again from the program's own model file. */

/* Queues work on `stream` that writes all `bytes` of the block at `address`, and returns 0, or a driver error
 * code, which the call that needs the block then returns. It runs on the thread of that call, which may be any
 * thread that uses blocks, and holds no lock of Tessera's. It must not wait for anything that another thread
 * may hold while calling Tessera, and must not throw. It may call only tessera_use_begin, tessera_use_end and
 * tessera_touch, for what its work reads: those blocks are fetched, or themselves recomputed, and must fit in
 * device memory together with everything the call needs. */
typedef int (*tessera_recompute)(void* context, tessera_address address, size_t bytes, tessera_stream stream);

/* `recompute` recomputes the contents that the block has when the work announced so far is complete, in
 * `cost_ns` of device time, as long as its inputs do not change. The next announced write ends this until it is
 * set again (announce reads as TESSERA_READ), as do the end of the block and unannounced work. It occupies the
 * stream that needs the block; calls without a stream (pin, wake) wait for a stream of Tessera's own. If it
 * fails, the call returns the error and the block stays evicted; the next call tries again. Blocks that share
 * pages (up to 1 MiB; up to 16 MiB if many are allocated in a row and only filled meanwhile), host-backed ones
 * and those that move in parts (extents.h) are copied instead. NULL removes the callback. Errors: NOT_FOUND if no
 * live block contains `address`; BUSY for NULL while only the callback can restore the bytes. */
TESSERA_API tessera_result tessera_set_recompute(tessera_allocator* allocator, tessera_address address,
                                                 tessera_recompute recompute, void* context, uint64_t cost_ns);

/* ---- queries -------------------------------------------------------------------------------- */

typedef struct tessera_block_info {
  uint32_t size;
  int32_t device;
  tessera_address address; /* of the block's first byte */
  uint64_t bytes;          /* as requested */
  uint64_t capacity;       /* usable size */
  uint64_t generation;     /* incremented with each reuse of the address */
  uint64_t device_bytes;   /* bytes of its pages in each tier */
  uint64_t host_bytes, file_bytes;
  uint32_t pins;
  char tag[32];
  uint64_t peer_bytes;
} tessera_block_info;

/* Cheap. Errors: NOT_FOUND if no live block contains `address`. */
TESSERA_API tessera_result tessera_query(tessera_allocator* allocator, tessera_address address,
                                         tessera_block_info* info);

/* Sums over all devices; docs/stats.md explains every field and which fields add up. */
typedef struct tessera_stats {
  uint32_t size;
  uint32_t devices;
  uint64_t live_blocks, live_bytes, peak_live_bytes; /* bytes as requested */
  uint64_t allocations, frees, cache_hits;
  uint64_t reserved_bytes; /* pages of all runs, live or cached */
  uint64_t device_capacity, device_used, device_spare, device_peak;
  uint64_t host_capacity, host_used, host_peak;
  uint64_t file_capacity, file_used, file_peak;
  uint64_t bytes_in, bytes_out, bytes_file_read, bytes_file_written; /* in: host to device */
  uint64_t fetches, evictions;                                       /* pages */
  uint64_t forwards, clean_evictions, discards; /* evictions cancelled by a use; with a valid copy; of dead pages */
  uint64_t stalls, stall_ns, late_fetches;      /* calls that waited for a move, total time; pages that arrived late */
  uint64_t launches, uses;                      /* announced uses; blocks in them */
  uint64_t pinned_bytes, exposed_bytes;
  uint64_t graph_peak; /* peak allocated by graphs themselves: outside of heap and budget */
  uint64_t dropped_bytes, recomputes, recomputed_bytes,
      recompute_ns; /* evicted without a copy; recomputations, their bytes, their time */
  uint64_t checks, checks_changed, unchanged_evictions,
      unchanged_bytes; /* pages checked; found changed; evicted as unchanged */
  uint64_t peer_capacity, peer_used, peer_peak, bytes_peer_in, bytes_peer_out; /* lent by other devices */
  uint64_t host_blocks, host_block_bytes, host_block_peak, host_block_pinned;  /* host.h; pinned: also if unused */
  uint64_t driver_host_bytes, registered_bytes; /* pinned host memory that the driver serves; from interposers */
  uint64_t outside_bytes, outside_peak; /* device memory of the program that the driver served: outside of the heap */
  uint64_t zero_copy_bytes;             /* used in host memory, because launches use more than fits on the device */
  uint64_t idle_ns;                     /* since the last use or allocation; observed a few times a second */
  uint64_t asleep;                      /* 1: all blocks were put to sleep, and none was used since */
  uint64_t idle_sleeps;                 /* of all blocks, because of the option sleep-when-idle */
  uint64_t reachable_bytes;             /* in host memory at their addresses, as launches do not show their uses */
  uint64_t left_unreachable;            /* pages of such blocks that were evicted without that */
  uint64_t exchanges;                   /* pages of zero_copy_bytes that came to the device in place of others */
} tessera_stats;

TESSERA_API tessera_result tessera_get_stats(tessera_allocator* allocator, tessera_stats* stats);
/* The same statistics and more as one JSON object. Writes up to `capacity` bytes including the terminating zero
 * and sets `needed` to the full size. `buffer` may be NULL if capacity is 0. */
TESSERA_API tessera_result tessera_stats_json(tessera_allocator* allocator, char* buffer, size_t capacity,
                                              size_t* needed);
/* Writes the latest move events as a Chrome/Perfetto trace. Errors: IO. */
TESSERA_API tessera_result tessera_write_timeline(tessera_allocator* allocator, const char* path);

/* The message of this thread's latest failure, "" if none. */
TESSERA_API const char* tessera_last_error(void);
/* The CUresult of this thread's latest TESSERA_DRIVER error, else 0. */
TESSERA_API int tessera_last_driver_code(void);
/* Bytes of RAM that the machine and its control groups leave to this process, 0 if unknown. */
TESSERA_API uint64_t tessera_available_memory(void);
TESSERA_API const char* tessera_version(void); /* TESSERA_VERSION_STRING */

#ifdef __cplusplus
}
#endif

#endif
