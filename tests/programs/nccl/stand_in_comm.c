/* The stand-in's communicators and retained objects: buffers, a scalar, memory of its own. */
#define _GNU_SOURCE
#include "stand_in_comm.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static CUresult load_kernel(CUfunction* kernel) {
  char path[4096];
  Dl_info where;
  CUmodule module;
  if (dladdr((void*)&load_kernel, &where) == 0) return CUDA_ERROR_FILE_NOT_FOUND;
  const char* const slash = strrchr(where.dli_fname, '/');
  const int folder = slash != NULL ? (int)(slash - where.dli_fname) : 0;
  snprintf(path, sizeof(path), "%.*s/stand_in_kernels.so", folder, where.dli_fname);
  const CUresult loaded = cuModuleLoad(&module, path);
  return loaded == CUDA_SUCCESS ? cuModuleGetFunction(kernel, module, "do_work") : loaded;
}

ncclResult_t allocate_own(CUdeviceptr* memory) {
  CUipcMemHandle handle;
  TRY(cuMemAlloc(memory, STAGING_BYTES));
  TRY(cuIpcGetMemHandle(&handle, *memory));
  return ncclSuccess;
}

/* In the current context. */
static ncclResult_t make_comm(ncclComm_t* made, int ranks, int rank, struct meeting* meeting, int blocking) {
  const size_t bytes = 2 * QUEUE * sizeof(struct work);
  ncclComm_t comm = calloc(1, sizeof(*comm));
  if (comm == NULL) return ncclSystemError;
  comm->rank = rank;
  comm->ranks = ranks;
  comm->blocking = blocking;
  comm->meeting = meeting;
  TRY(cuCtxGetCurrent(&comm->context));
  TRY(load_kernel(&comm->kernel));
  TRY(cuMemHostAlloc((void**)&comm->queue, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  const ncclResult_t result = allocate_own(&comm->staging);
  *made = comm;
  return result;
}

/* Each rank maps the meeting separately, and unmaps it with its communicator. */
static struct meeting* map_meeting(int file) {
  void* const mapped = mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return mapped != MAP_FAILED ? mapped : NULL;
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* list) {
  const int file = memfd_create("nccl-stand-in", MFD_CLOEXEC);
  ncclResult_t result = ncclSuccess;
  if (file < 0 || ftruncate(file, sizeof(struct meeting)) != 0) return ncclSystemError;
  for (int rank = 0; rank < devices && result == ncclSuccess; ++rank) {
    CUcontext context;
    struct meeting* const meeting = map_meeting(file);
    if (meeting == NULL) return ncclSystemError;
    TRY(cuDevicePrimaryCtxRetain(&context, list != NULL ? list[rank] : rank));
    TRY(cuCtxPushCurrent(context));
    result = make_comm(&comms[rank], devices, rank, meeting, 1);
    TRY(cuCtxPopCurrent(&context));
  }
  close(file);
  return result;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  memset(id, 0, sizeof(*id));
  snprintf(id->internal, sizeof(id->internal), "/nccl-stand-in-%d-%d", (int)getpid(), made++);
  return ncclSuccess;
}

/* Returns when all ranks have called it; the last of them removes the name. */
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const int file = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(struct meeting)) != 0) return ncclSystemError;
  struct meeting* const meeting = map_meeting(file);
  close(file);
  if (meeting == NULL) return ncclSystemError;
  const int blocking = config == NULL || config->blocking != 0;
  const ncclResult_t result = make_comm(comm, ranks, rank, meeting, blocking);
  if (result != ncclSuccess) return result;
  if (__atomic_add_fetch(&meeting->joined, 1, __ATOMIC_ACQ_REL) == (uint32_t)ranks) {
    shm_unlink(id.internal);
  }
  while (__atomic_load_n(&meeting->joined, __ATOMIC_ACQUIRE) < (uint32_t)ranks) usleep(1000);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(comm, ranks, id, rank, NULL);
}

void join_later(ncclComm_t comm) {
  if (comm->is_later) pthread_join(comm->later, NULL);
  comm->is_later = 0;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  join_later(comm);
  TRY(cuCtxPushCurrent(comm->context));
  TRY(cuCtxSynchronize());
  TRY(cuMemFree(comm->staging));
  if (comm->more_staging != 0) TRY(cuMemFree(comm->more_staging));
  TRY(cuMemFreeHost(comm->queue));
  TRY(cuCtxPopCurrent(&comm->context));
  munmap(comm->meeting, sizeof(*comm->meeting));
  free(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = (ncclResult_t)__atomic_load_n(&comm->state, __ATOMIC_ACQUIRE);
  if (*error != ncclInProgress) join_later(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* ranks) {
  *ranks = comm->ranks;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}

/* ---- retained objects --------------------------------------------------------------------------- */

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  if (type != ncclInt32 || residence != ncclScalarDevice) return ncclInvalidArgument;
  comm->scalar = (CUdeviceptr)(uintptr_t)(scalar);
  *op = ncclNumOps;
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t bytes, void** handle) {
  const char* const enabled = getenv("NCCL_CUMEM_ENABLE");
  const CUdeviceptr address = (CUdeviceptr)(uintptr_t)(buffer);
  int is_legacy = 0;
  (void)comm;
  if (bytes == 0) return ncclInvalidArgument;
  if (enabled == NULL || strcmp(enabled, "0") != 0) {
    TRY(cuPointerGetAttribute(&is_legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address));
    if (is_legacy == 0) {
      CUmemGenericAllocationHandle piece;
      TRY(cuMemRetainAllocationHandle(&piece, buffer));
      TRY(cuMemRelease(piece));
    }
  }
  *handle = buffer;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  (void)comm;
  return handle != NULL ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t ncclMemAlloc(void** buffer, size_t bytes) {
  CUdeviceptr made;
  TRY(cuMemAlloc(&made, bytes));
  *buffer = (void*)(uintptr_t)made;
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void* buffer) {
  TRY(cuMemFree((CUdeviceptr)(uintptr_t)(buffer)));
  return ncclSuccess;
}

int stand_in_sees_peers(CUdevice device, CUdevice peer) {
  int can = -1;
  const CUresult told = cuDeviceCanAccessPeer(&can, device, peer);
  return told == CUDA_SUCCESS ? can : -1;
}

ALSO(ncclGetUniqueId);
ALSO(ncclCommInitAll);
ALSO(ncclCommInitRank);
ALSO(ncclCommInitRankConfig);
ALSO(ncclCommDestroy);
ALSO(ncclCommGetAsyncError);
ALSO(ncclCommCount);
ALSO(ncclCommUserRank);
ALSO(ncclRedOpCreatePreMulSum);
ALSO(ncclCommRegister);
ALSO(ncclCommDeregister);
ALSO(ncclMemAlloc);
ALSO(ncclMemFree);
