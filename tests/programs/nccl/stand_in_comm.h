/* The stand-in's communicator, for its own sources.
 *
 * Thread safety: as for NCCL.
 */
#ifndef TESSERA_PROGRAMS_NCCL_STAND_IN_COMM_H
#define TESSERA_PROGRAMS_NCCL_STAND_IN_COMM_H

#include <pthread.h>

#include "stand_in.h"
#include "stand_in_work.h"

#define QUEUE 512 /* pieces of work; as many again belong to graphs */
#define STAGING_BYTES (STAND_IN_CHUNK * sizeof(int32_t))

#define TRY(call)                                              \
  do {                                                         \
    if ((call) != CUDA_SUCCESS) return ncclUnhandledCudaError; \
  } while (0)

struct ncclComm {
  int rank, ranks, blocking;
  CUcontext context;
  CUfunction kernel;
  CUdeviceptr staging, more_staging; /* NCCL's own memory */
  CUdeviceptr scalar;                /* of the one reduction with a scalar */
  struct work* queue;
  unsigned next, kept; /* pieces that were queued, and that belong to graphs */
  struct meeting* meeting;
  int state; /* of the last call, when it does not block */
  pthread_t later;
  int is_later;
};

/* Memory that NCCL shares with others has to be of a shareable kind. */
__attribute__((visibility("hidden"))) ncclResult_t allocate_own(CUdeviceptr* memory);
/* Waits until work to be queued later has been queued. */
__attribute__((visibility("hidden"))) void join_later(ncclComm_t comm);

/* Each function exists a second time, for tools that intercept NCCL. */
#define ALSO(name) extern __typeof__(name) p##name __attribute__((alias(#name)))

#endif
