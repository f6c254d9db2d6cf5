/* Disasters by seed: the allocator on a virtual machine where drivers, disks and memory fail, under a
 * random program: `tessera torture` in libtessera_replay. It needs no GPU, and the same seed gives the
 * same answer.
 *
 * Conventions are those of tessera.h; failures are told by tessera_torture_last_error(). A defect of
 * the allocator may end or hang the process that finds it: run a seed in a process of its own.
 *
 * Thread safety: every call may be made from any thread.
 */
#ifndef TESSERA_TORTURE_H
#define TESSERA_TORTURE_H

#include <stdint.h>

#include "tessera/export.h"
#include "tessera/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the program of `operations` operations that `seed` makes, or those of them that `kept` names:
 * "0-4,7"; null or "" for all. The result is one JSON object, with "passed", and lives until the
 * thread's next call. Errors: INVALID_ARGUMENT for `kept`. */
TESSERA_API tessera_result tessera_torture_run(uint64_t seed, uint32_t operations, const char* kept,
                                               const char** json);
/* This thread's last failure of these calls as a sentence, "" if none. */
TESSERA_API const char* tessera_torture_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
