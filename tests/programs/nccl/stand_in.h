/* The subset of NCCL's public interface in the stand-in, under NCCL's names: included by programs like <nccl.h>.
 *
 * Enumerations are those of nccl.h, as far as they are used. Data are 32-bit integers.
 *
 * Thread safety: as for NCCL: a communicator belongs to one thread at a time.
 */
#ifndef TESSERA_PROGRAMS_NCCL_STAND_IN_H
#define TESSERA_PROGRAMS_NCCL_STAND_IN_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ncclComm* ncclComm_t;
typedef struct {
  char internal[128];
} ncclUniqueId;
typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclInProgress = 7
} ncclResult_t;
typedef enum { ncclInt32 = 2 } ncclDataType_t;
typedef enum { ncclSum = 0, ncclNumOps = 5 } ncclRedOp_t;
typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;
/* The members of ncclConfig_t that are read; a non-blocking communicator has blocking = 0. */
typedef struct {
  size_t size;
  unsigned magic, version;
  int blocking;
} ncclConfig_t;

/* Each function exists a second time as p<name>, for tools that intercept NCCL. */
#define STAND_IN_FUNCTION(name, parameters) \
  ncclResult_t name parameters;             \
  ncclResult_t p##name parameters;

STAND_IN_FUNCTION(ncclGetUniqueId, (ncclUniqueId * id))
STAND_IN_FUNCTION(ncclCommInitAll, (ncclComm_t * comms, int devices, const int* list))
STAND_IN_FUNCTION(ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank))
STAND_IN_FUNCTION(ncclCommInitRankConfig,
                  (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config))
STAND_IN_FUNCTION(ncclCommDestroy, (ncclComm_t comm))
STAND_IN_FUNCTION(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* error))
STAND_IN_FUNCTION(ncclCommCount, (const ncclComm_t comm, int* ranks))
STAND_IN_FUNCTION(ncclCommUserRank, (const ncclComm_t comm, int* rank))

STAND_IN_FUNCTION(ncclGroupStart, (void))
STAND_IN_FUNCTION(ncclGroupEnd, (void))
STAND_IN_FUNCTION(ncclAllReduce, (const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t comm, CUstream stream))
STAND_IN_FUNCTION(ncclReduce, (const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               int root, ncclComm_t comm, CUstream stream))
STAND_IN_FUNCTION(ncclBroadcast, (const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                                  ncclComm_t comm, CUstream stream))
STAND_IN_FUNCTION(ncclBcast,
                  (void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream))
STAND_IN_FUNCTION(ncclAllGather, (const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                                  CUstream stream))
STAND_IN_FUNCTION(ncclSend,
                  (const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))
STAND_IN_FUNCTION(ncclRecv,
                  (void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))

STAND_IN_FUNCTION(ncclRedOpCreatePreMulSum, (ncclRedOp_t * op, void* scalar, ncclDataType_t type,
                                             ncclScalarResidence_t residence, ncclComm_t comm))
STAND_IN_FUNCTION(ncclCommRegister, (const ncclComm_t comm, void* buffer, size_t bytes, void** handle))
STAND_IN_FUNCTION(ncclCommDeregister, (const ncclComm_t comm, void* handle))
STAND_IN_FUNCTION(ncclMemAlloc, (void** buffer, size_t bytes))
STAND_IN_FUNCTION(ncclMemFree, (void* buffer))

/* The driver's peer access result for NCCL, queried while a communicator is created. */
int stand_in_sees_peers(CUdevice device, CUdevice peer);

#endif
