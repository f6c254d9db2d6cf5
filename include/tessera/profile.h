/* What happened in a part of a program: its history, as `tessera run --history` keeps it of a whole run, and
 * `tessera report` draws it. There is one such part at a time.
 *
 * Counts, times and copies are those of the part. Sizes are those at its end, and peaks those since the program
 * began.
 *
 * Thread safety: any thread. */
#ifndef TESSERA_PROFILE_H
#define TESSERA_PROFILE_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a part, in place of an earlier one, which is dropped. NULL means the shared allocator (interpose.h); where
 * that waits for a context, the part begins with it. Errors: NOT_SUPPORTED if it keeps no events. */
TESSERA_API tessera_result tessera_profile_begin(tessera_allocator* allocator);
/* Ends the part, and writes its history to `path`; NULL drops it. NULL for the allocator as above. Errors:
 * INVALID_ARGUMENT if no part has begun; NOT_READY if the shared allocator still waits; IO. */
TESSERA_API tessera_result tessera_profile_end(tessera_allocator* allocator, const char* path);

#ifdef __cplusplus
}
#endif

#endif
