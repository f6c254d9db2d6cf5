/* What a Tessera call returns: one code, its meaning and what to do about it.
 * Thread safety: no code but tessera_result_name, which any thread may call. */
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

#include "tessera/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tessera_result {
  TESSERA_OK = 0,
  TESSERA_INVALID_ARGUMENT = 1, /* a value cannot be meant; the message says which */
  TESSERA_NOT_FOUND = 2,        /* the address (or name) is not Tessera's, or freed already */
  TESSERA_OUT_OF_MEMORY = 3,    /* no tier can hold it; raise a budget named in the message */
  TESSERA_NOT_READY = 4,        /* not finished; ask again or wait */
  TESSERA_NOT_SUPPORTED = 5,    /* this machine cannot; `tessera doctor` says why */
  TESSERA_BUSY = 6,             /* pinned or in use; unpin, or retry later */
  TESSERA_IO = 7,               /* the spill file failed; check the file directory */
  TESSERA_DATA_LOSS = 8,        /* bytes came back corrupt from a lower tier; do not trust them */
  TESSERA_DRIVER = 9,           /* the CUDA driver refused; see tessera_last_driver_code() */
  TESSERA_INTERNAL = 10         /* a defect in Tessera; please report the message */
} tessera_result;

/* "out of memory" and the like; never NULL. */
TESSERA_API const char* tessera_result_name(tessera_result result);

#ifdef __cplusplus
}
#endif

#endif
