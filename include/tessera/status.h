/* The result of a Tessera call: a code, its meaning and the remedy.
 * Thread safety: tessera_result_name may be called from any thread; the rest is declarations. */
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

#include "tessera/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tessera_result {
  TESSERA_OK = 0,
  TESSERA_INVALID_ARGUMENT = 1, /* invalid value; the message names it */
  TESSERA_NOT_FOUND = 2,        /* the address (or name) is unknown to Tessera, or already freed */
  TESSERA_OUT_OF_MEMORY = 3,    /* no tier can hold it; raise a budget named in the message */
  TESSERA_NOT_READY = 4,        /* not finished; query again or wait */
  TESSERA_NOT_SUPPORTED = 5,    /* not possible on this machine; `tessera doctor` explains why */
  TESSERA_BUSY = 6,             /* pinned or in use; unpin, or retry later */
  TESSERA_IO = 7,               /* the spill file failed; check the file directory */
  TESSERA_DATA_LOSS = 8,        /* a lower tier returned corrupt bytes; do not use them */
  TESSERA_DRIVER = 9,           /* the CUDA driver refused; see tessera_last_driver_code() */
  TESSERA_INTERNAL = 10         /* a defect in Tessera; please report the message */
} tessera_result;

/* A name such as "out of memory"; never NULL. */
TESSERA_API const char* tessera_result_name(tessera_result result);

#ifdef __cplusplus
}
#endif

#endif
