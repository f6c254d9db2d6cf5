/* Processors and threads that the machine and its control groups leave to this process. For memory see
 * tessera_available_memory.
 *
 * Thread safety: any thread. A call reads a few small files. */
#ifndef TESSERA_LIMITS_H
#define TESSERA_LIMITS_H

#include <stdint.h>

#include "tessera/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Processors available by CPU affinity and the quotas of its control groups: 0.5 is half a processor. */
TESSERA_API double tessera_available_processors(void);

/* Threads that the process can still start within the limits of its control groups; UINT64_MAX without a limit. */
TESSERA_API uint64_t tessera_available_tasks(void);

#ifdef __cplusplus
}
#endif

#endif
