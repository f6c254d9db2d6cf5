/* What the machine and its control groups leave this process, beside memory (tessera_available_memory).
 *
 * Thread safety: any thread. A call reads a few small files.
 */
#ifndef TESSERA_LIMITS_H
#define TESSERA_LIMITS_H

#include <stdint.h>

#include "tessera/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Processors that it may use by its affinity and the quotas of its groups: 0.5 is half of one. */
TESSERA_API double tessera_available_processors(void);

/* Threads that the limits of its groups let it start, UINT64_MAX without such a limit. */
TESSERA_API uint64_t tessera_available_tasks(void);

#ifdef __cplusplus
}
#endif

#endif
