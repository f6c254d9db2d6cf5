/* Replays a program's trace through the allocator on a virtual machine: `tessera replay` as a separate library,
 * libtessera_lab. It needs no GPU, allocates no memory for the bytes it moves, and is deterministic: the
 * same trace with the same options gives the same result.
 *
 * The conventions of tessera.h hold; tessera_replay_last_error() describes failures.
 *
 * Thread safety: all functions may be called from any thread, but one object only from one thread at a time. */
#ifndef TESSERA_REPLAY_H
#define TESSERA_REPLAY_H

#include <stddef.h>

#include "tessera/export.h"
#include "tessera/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tessera_replay tessera_replay;

TESSERA_API tessera_result tessera_replay_create(tessera_replay** replay);
TESSERA_API void tessera_replay_destroy(tessera_replay* replay);
/* Every option of docs/replay.md, by name and with the value as text: "device-memory", "4GiB". Errors:
 * NOT_FOUND for an unknown option, INVALID_ARGUMENT for a value it does not accept. */
TESSERA_API tessera_result tessera_replay_set(tessera_replay* replay, const char* name, const char* value);
/* The result as one JSON object, valid until the object's next call. Errors: IO and INVALID_ARGUMENT for the
 * trace, with its line; OUT_OF_MEMORY if it does not fit. */
TESSERA_API tessera_result tessera_replay_run(tessera_replay* replay, const char* trace_path, const char** json);
/* Several programs on one machine, whose device they share; the result compares the ways in which they may. Errors: as
 * above, and INVALID_ARGUMENT for fewer than two traces, for traces of several devices, and for options that do not
 * suit them. */
TESSERA_API tessera_result tessera_replay_run_shared(tessera_replay* replay, const char* const* trace_paths,
                                                     size_t count, const char** json);
/* Name, source and a one-line summary of each policy, as a JSON list with static lifetime. */
TESSERA_API const char* tessera_replay_policies(void);
/* The message of this thread's latest failure in these calls, "" if none. */
TESSERA_API const char* tessera_replay_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
