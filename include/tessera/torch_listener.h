/* How PyTorch's own allocator tells Tessera which part of a segment is which tensor.
 *
 * The listener is a small library that is compiled with the headers of the PyTorch that it is for, since it is called
 * with that version's C++ types. It attaches itself to the allocator's trace, and passes on what it is called with
 * through the functions below. The preload library loads it; docs/pytorch.md says how it is built.
 *
 * Thread safety: the functions may be called from any thread, also while the allocator's lock is held. */
#ifndef TESSERA_TORCH_LISTENER_H
#define TESSERA_TORCH_LISTENER_H

#include "tessera/extents.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of this struct; part of the name of a listener's file. */
#define TESSERA_TORCH_LISTENER_INTERFACE 1

/* tessera_extents_add and so on, on the allocator of the process. */
typedef struct tessera_torch_calls {
  uint32_t interface; /* TESSERA_TORCH_LISTENER_INTERFACE */
  void (*add)(const tessera_range* objects, size_t count);
  void (*remove)(tessera_address address);
  void (*keep_whole)(tessera_address address);
  int (*is_captured)(void* stream); /* whether its work goes into a graph */
} tessera_torch_calls;

typedef enum tessera_torch_attached {
  TESSERA_TORCH_ATTACHED = 0,
  TESSERA_TORCH_TOO_EARLY = 1,       /* PyTorch has not initialised its allocator yet */
  TESSERA_TORCH_OTHER_ALLOCATOR = 2, /* PyTorch does not use its own, or it has no trace */
  TESSERA_TORCH_OTHER_INTERFACE = 3, /* the listener is for another version of Tessera */
} tessera_torch_attached;

/* What a listener exports, as tessera_torch_listen. Attaches it for good: it must stay loaded. At most once; not while
 * the calling thread is inside the allocator. */
typedef tessera_torch_attached (*tessera_torch_listen_function)(const tessera_torch_calls* calls);

#ifdef __cplusplus
}
#endif

#endif
