/* What an interposer needs beyond tessera.h: it sees raw launches, not a caller's good will.
 *
 * The conventions of tessera.h hold. The preload library in shim/preload is the model user.
 *
 * Thread safety: as tessera.h.
 */
#ifndef TESSERA_INTERPOSE_H
#define TESSERA_INTERPOSE_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the true entry point of the CUDA driver by its exported name, e.g. "cuMemMap"; NULL when
 * there is none. Must not come back through the interposer's own hooks. */
typedef void* (*tessera_resolver)(const char* name, void* user);

/* The allocator made from these options calls the driver through `resolver` only. */
TESSERA_API tessera_result tessera_options_set_resolver(tessera_options* options,
                                                        tessera_resolver resolver, void* user);

/* Every managed address of every device lies in [low, high): one compare sends all others away.
 * Constant once a device was used; 0,0 before. Cheap. */
TESSERA_API void tessera_managed_range(tessera_allocator* allocator, tessera_address* low,
                                       tessera_address* high);
/* Whether the address is managed, in a live block or not: others may have memory in that range, between
 * the heaps of two devices. Cheap. */
TESSERA_API int tessera_manages(tessera_allocator* allocator, tessera_address address);

/* Like tessera_use_begin, for work whose operands are not known: every naturally aligned 8-byte
 * word of the `bytes` at `words` that points into a live block names that block. `name` (may be
 * NULL) is the kernel's, for traces and the learner, which knows it by the pointer: it must stay
 * the same for the same kernel. Access is assumed to be WRITE. From the first such call on, work may use blocks that it
 * does not name: a block leaves behind all work that its device had been given by then, and stays for a few launches
 * behind its last use (option `grace`).
 * Errors: also NOT_FOUND, where a word is managed (tessera_manages) and in no live block: it names nothing, or a block
 * beside it, which only the maker of the words may know. Without it the call can be made again. */
TESSERA_API tessera_result tessera_use_begin_words(tessera_allocator* allocator, const void* words,
                                                   size_t bytes, tessera_stream stream,
                                                   const char* name, tessera_use* use);
/* The same for words of which some are less likely to be addresses than others: a pair of small numbers can
 * look like one. The first `certain` of them are taken for addresses, and so is each of the next `likely` that
 * is the very address of a block. Of the others, those and `maybe` behind them, as many come as fit into device
 * memory beside these, the first ones first; whether they fit decides nothing about the call. Errors: NOT_FOUND likewise, for the
 * first `certain`. */
TESSERA_API tessera_result tessera_use_begin_graded(tessera_allocator* allocator,
                                                    const tessera_address* words, size_t certain,
                                                    size_t likely, size_t maybe,
                                                    tessera_stream stream, const char* name,
                                                    tessera_use* use);
/* Like tessera_use_begin_words, for a launch that names no block: it may still reach one, by an address that it reads
 * from memory or from a global. No block leaves device memory before such work is over, if the work was queued when
 * the block began to leave. `device` is the stream's; -1: unknown, then the launch counts on every device in use.
 * Cheap. */
TESSERA_API tessera_result tessera_use_begin_unnamed(tessera_allocator* allocator, int device,
                                                     tessera_stream stream, const char* name, tessera_use* use);
/* The kernels of this name, which is the pointer that launches of them give, wait for other kernels or for the program, as
 * those of a collective do. Where one is under way, a call that needs room waits for other work more briefly. */
TESSERA_API void tessera_expect_waiting(tessera_allocator* allocator, const char* name);
/* Whether blocks that have left device memory stay reachable at their addresses, in host memory (option
 * `unhinted-access`): work that uses them unannounced is slow then, and never wrong. Cheap. */
TESSERA_API int tessera_is_host_backed(tessera_allocator* allocator);
/* Like tessera_use_begin, for a call that returns only when its work is done (cuMemcpy): it may
 * take long, so it holds its blocks instead of the launch gate. Ends by tessera_use_end too. Meanwhile
 * the thread may announce further uses of the same blocks, and pin them: they are there. */
TESSERA_API tessera_result tessera_use_begin_blocking(tessera_allocator* allocator,
                                                      const tessera_address* addresses,
                                                      size_t count, tessera_stream stream,
                                                      tessera_access access, tessera_use* use);

/* The block's address left our sight: it stays in device memory until it is freed, and the
 * statistics say so with `reason` (a literal, e.g. "cuIpcGetMemHandle"). May wait. */
TESSERA_API tessera_result tessera_expose(tessera_allocator* allocator, tessera_address address,
                                          const char* reason);

/* Around a call by which the program waits for work of its own, as cuStreamSynchronize: what was queued when the call began
 * is over when it has returned with success, and no block has to wait for that work any more, whatever is queued behind
 * it. `device` is the stream's. Gives what tessera_note_waited takes; 0: nothing is known then, and nothing is to be
 * noted. Cheap. */
TESSERA_API uint64_t tessera_before_wait(tessera_allocator* allocator, int device);
/* After it. TESSERA_NO_STREAM: it waited for all streams of the context that blocks of the device are used in. */
TESSERA_API void tessera_note_waited(tessera_allocator* allocator, int device, tessera_stream stream, uint64_t before);
/* As tessera_use_end, where all of the work is over by now. */
TESSERA_API void tessera_use_end_over(tessera_allocator* allocator, tessera_use* use);
/* Like tessera_pin, for an address that the program has put where no call shows its use, and may overwrite: the block
 * stays in device memory until as many tessera_unkeep, and the statistics say so with `reason` (a literal) meanwhile.
 * May wait. Errors: also OUT_OF_MEMORY where what is pinned would leave too little of the device to launches: less than
 * the largest one so far used, or than half of it. */
TESSERA_API tessera_result tessera_keep(tessera_allocator* allocator, tessera_address address,
                                        const char* reason);
/* What it holds counts as written by then. Errors: INVALID_ARGUMENT when it is not kept. */
TESSERA_API tessera_result tessera_unkeep(tessera_allocator* allocator, tessera_address address);

/* Call before the program destroys a stream, so that work queued on it can still be waited for. */
TESSERA_API tessera_result tessera_retire_stream(tessera_allocator* allocator,
                                                 tessera_stream stream);

/* Returns when all work queued on the device is over. Errors: the driver's; it refuses while a stream
 * of the device is captured into a graph, and the capture may be spoilt by it. */
TESSERA_API tessera_result tessera_synchronize(tessera_allocator* allocator, int device);

/* What cuMemGetInfo should say of the device: total is the device's, free is what the program
 * could still allocate before anything has to leave device memory. That is the same before the device's first
 * block and after: the budget, or less where the driver has given memory elsewhere, less what live blocks take. */
TESSERA_API tessera_result tessera_memory_info(tessera_allocator* allocator, int device,
                                               uint64_t* free_bytes, uint64_t* total_bytes);
/* The same for memory that the driver itself gives (in a second context): what it has free, and what Tessera holds
 * free and would yield. */
TESSERA_API tessera_result tessera_memory_beside(tessera_allocator* allocator, int device,
                                                 uint64_t* free_bytes, uint64_t* total_bytes);
/* What an allocator made from these options would tell of a device of which the driver says `free_bytes`.
 * Errors: NOT_SUPPORTED where the options leave the program alone, or promise more than the device has. */
TESSERA_API tessera_result tessera_options_device_budget(const tessera_options* options, int device,
                                                         uint64_t free_bytes, uint64_t* budget);

/* The driver is out of memory for a call of the program's on the device. What Tessera holds free there goes back to the
 * driver; where that leaves it with less than `wanted` bytes, blocks leave device memory until it has them, unless all of
 * them would not do. 0: none leaves. TESSERA_YIELD_UNKNOWN: as much as a call usually needs that does not say;
 * TESSERA_YIELD_HALF: half of what is there, for one that needs more. `yielded` gets the bytes that went back. Unless they are 0 the caller makes its call again, and then calls tessera_yield_end: in between
 * Tessera takes no more memory of the device than it has. Later it takes what is free again when it needs it. May wait
 * for work on the device; REQUIRES: the thread is in no use (tessera_use_begin). */
#define TESSERA_YIELD_UNKNOWN UINT64_MAX
#define TESSERA_YIELD_HALF (UINT64_MAX - 1)
TESSERA_API tessera_result tessera_yield_begin(tessera_allocator* allocator, int device, uint64_t wanted,
                                               uint64_t* yielded);
TESSERA_API tessera_result tessera_yield_end(tessera_allocator* allocator, int device);
/* Device memory that is held and not used goes back to the driver until no more than `keep` bytes are held. Moves
 * nothing. */
TESSERA_API tessera_result tessera_trim_device(tessera_allocator* allocator, int device, uint64_t keep);
/* The program has freed memory that the driver itself gave: where Tessera has yielded memory it looks, when it is short,
 * whether there is some again. Cheap. */
TESSERA_API void tessera_expect_device_memory(tessera_allocator* allocator);

/* The allocator that all faces in this process share: the preload library's where that is loaded,
 * else one made at the first call from the environment's options, for which tessera_set_automatic is
 * off. Never destroy it, and do not keep it: it may end with its context. Cheap. Call it after each
 * allocation as well, so that the preload library learns of new addresses.
 * Errors: NOT_READY with the preload library before a context is current; as create. */
TESSERA_API tessera_result tessera_shared(tessera_allocator** allocator);
/* Whether there is one by now, whose options are settled. Makes none. Cheap. */
TESSERA_API int tessera_shared_exists(void);
/* For whoever makes the shared allocator: it is this one from now on; NULL when it ends. */
TESSERA_API void tessera_share(tessera_allocator* allocator);
/* On: blocks leave device memory by themselves when room is short, which is right when all work on
 * them is announced or watched, and is how every other allocator starts. Off: they leave by
 * tessera_evict and tessera_sleep alone, which wait for all work on the device first; so does
 * switching on. Whoever then uses a block that is away must wake or pin it first; what is just leaving
 * when they are switched off stays. */
TESSERA_API tessera_result tessera_set_automatic(tessera_allocator* allocator, int on);

/* Writes what the options ask for at the end of a program: statistics, timeline, history, trace. */
TESSERA_API tessera_result tessera_finish(tessera_allocator* allocator);

#ifdef __cplusplus
}
#endif

#endif
