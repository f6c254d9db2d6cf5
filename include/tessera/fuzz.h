/* Fault-injection fuzzing by seed: runs a random program through the allocator on a virtual machine on which
 * drivers, disks and memory fail. `tessera fuzz` in libtessera_lab. It needs no GPU, and the same seed
 * gives the same result.
 *
 * The conventions of tessera.h hold; tessera_fuzz_last_error() describes failures. A defect of the allocator
 * may crash or hang the process that finds it: run each seed in a process of its own.
 *
 * Thread safety: all functions may be called from any thread. */
#ifndef TESSERA_FUZZ_H
#define TESSERA_FUZZ_H

#include <stdint.h>

#include "tessera/export.h"
#include "tessera/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the program of `operations` operations generated from `seed`, or only those that `kept` lists: "0-4,7";
 * null or "" for all. The result is one JSON object with the key "passed", valid until the thread's next call.
 * Errors: INVALID_ARGUMENT for `kept`. */
TESSERA_API tessera_result tessera_fuzz_run(uint64_t seed, uint32_t operations, const char* kept, const char** json);
/* The message of this thread's latest failure in these calls, "" if none. */
TESSERA_API const char* tessera_fuzz_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
