/* Replays a trace of a program through the allocator on a virtual machine: `tessera replay` as a
 * library of its own, libtessera_replay. It needs no GPU, takes no memory for the bytes it moves,
 * and the same trace with the same options gives the same answer.
 *
 * Conventions are those of tessera.h; failures are told by tessera_replay_last_error().
 *
 * Thread safety: every call may be made from any thread, but one object by one thread at a time.
 */
#ifndef TESSERA_REPLAY_H
#define TESSERA_REPLAY_H

#include "tessera/export.h"
#include "tessera/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tessera_replay tessera_replay;

TESSERA_API tessera_result tessera_replay_create(tessera_replay** replay);
TESSERA_API void tessera_replay_destroy(tessera_replay* replay);
/* Every option of docs/replay.md by its name, value as text: "device-memory", "4GiB". Errors:
 * NOT_FOUND for no such option, INVALID_ARGUMENT for a value it does not take. */
TESSERA_API tessera_result tessera_replay_set(tessera_replay* replay, const char* name,
                                              const char* value);
/* The result as one JSON object, which lives until the object's next call. Errors: IO and
 * INVALID_ARGUMENT for the trace, with its line; OUT_OF_MEMORY when it does not fit. */
TESSERA_API tessera_result tessera_replay_run(tessera_replay* replay, const char* trace_path,
                                              const char** json);
/* Name, source and one line about each policy, as a JSON list that lives for ever. */
TESSERA_API const char* tessera_replay_policies(void);
/* This thread's last failure of these calls as a sentence, "" if none. */
TESSERA_API const char* tessera_replay_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
