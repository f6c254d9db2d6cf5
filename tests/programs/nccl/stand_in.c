/* A stand-in for NCCL on the software device, as libnccl.so.2: it behaves to the driver as NCCL does.
 *
 * Its kernel finds the program's buffers by a queue in host memory; the work of a group is queued at the
 * end of the group, by another thread and later where a communicator does not block; it allocates device
 * memory of its own when a communicator is made and, on a thread of its own, with the first work, and needs
 * to share that with other processes. A buffer is registered only if it is of cuMemAlloc or one piece of
 * virtual memory, unless NCCL_CUMEM_ENABLE is 0. Ranks are devices of one process (ncclCommInitAll) or
 * processes.
 *
 * Environment: STAND_IN_PATIENCE, the seconds that a kernel waits for other ranks (60).
 */
#define _GNU_SOURCE
#include "stand_in.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stand_in_work.h"

#define QUEUE 512 /* pieces of work; as many again belong to graphs */
#define MOST_TASKS 64
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

struct task {
  ncclComm_t comm;
  CUstream stream;
  struct work work;
};

static _Thread_local int depth;
static _Thread_local ncclResult_t group_error;
static _Thread_local int task_count;
static _Thread_local struct task tasks[MOST_TASKS];

/* ---- communicators ----------------------------------------------------------------------------- */

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

static int patience(void) {
  const char* const told = getenv("STAND_IN_PATIENCE");
  return told != NULL ? atoi(told) : 60;
}

/* Memory that NCCL shares with others has to be of a kind that can be shared. */
static ncclResult_t allocate_own(CUdeviceptr* memory) {
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

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* list) {
  struct meeting* const meeting = calloc(1, sizeof(*meeting));
  ncclResult_t result = meeting != NULL ? ncclSuccess : ncclSystemError;
  for (int rank = 0; rank < devices && result == ncclSuccess; ++rank) {
    CUcontext context;
    TRY(cuDevicePrimaryCtxRetain(&context, list != NULL ? list[rank] : rank));
    TRY(cuCtxPushCurrent(context));
    result = make_comm(&comms[rank], devices, rank, meeting, 1);
    TRY(cuCtxPopCurrent(&context));
  }
  return result;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  memset(id, 0, sizeof(*id));
  snprintf(id->internal, sizeof(id->internal), "/nccl-stand-in-%d-%d", (int)getpid(), made++);
  return ncclSuccess;
}

/* Returns when all ranks have one; the last of them takes the name away. */
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const int file = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(struct meeting)) != 0) return ncclSystemError;
  struct meeting* const meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (meeting == MAP_FAILED) return ncclSystemError;
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

static void join_later(ncclComm_t comm) {
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

/* ---- work -------------------------------------------------------------------------------------- */

static void* allocate_apart(void* of) {
  ncclComm_t comm = of;
  if (cuCtxSetCurrent(comm->context) != CUDA_SUCCESS) return NULL;
  if (allocate_own(&comm->more_staging) != ncclSuccess) comm->more_staging = 0;
  return NULL;
}

/* What a proxy thread of NCCL allocates when a connection is made. */
static ncclResult_t connect_once(ncclComm_t comm) {
  pthread_t proxy;
  if (comm->more_staging != 0) return ncclSuccess;
  if (pthread_create(&proxy, NULL, allocate_apart, comm) != 0) return ncclSystemError;
  pthread_join(proxy, NULL);
  return comm->more_staging != 0 ? ncclSuccess : ncclUnhandledCudaError;
}

/* All tasks of one communicator and stream, from `first` on, as one launch. */
static ncclResult_t launch(struct task* from, int count, int first) {
  const ncclComm_t comm = from[first].comm;
  const CUstream stream = from[first].stream;
  CUstreamCaptureStatus status;
  unsigned pieces = 0, size = QUEUE;
  const ncclResult_t connected = connect_once(comm);
  if (connected != ncclSuccess) return connected;
  TRY(cuStreamIsCapturing(stream, &status));
  const int captured = status != CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned* const place = captured ? &comm->kept : &comm->next;
  if (captured && *place + (unsigned)count > QUEUE) return ncclSystemError;
  struct work* queue = captured ? comm->queue + QUEUE : comm->queue;
  unsigned begin = *place;
  for (int i = first; i < count; ++i) {
    if (from[i].comm != comm || from[i].stream != stream) continue;
    from[i].work.staging = pieces % 2 == 0 ? comm->staging : comm->more_staging;
    queue[*place % QUEUE] = from[i].work;
    /* Before a piece is written anew its work has to be over. */
    if (++*place % QUEUE == 0 && !captured) TRY(cuStreamSynchronize(stream));
    ++pieces;
    from[i].comm = i > first ? NULL : comm;
  }
  void* parameters[] = {&queue, &begin, &pieces, &size};
  TRY(cuLaunchKernel(comm->kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
  return ncclSuccess;
}

static ncclResult_t launch_all(struct task* from, int count) {
  ncclResult_t result = ncclSuccess;
  for (int i = 0; i < count && result == ncclSuccess; ++i) {
    if (from[i].comm == NULL) continue; /* launched with an earlier one */
    CUcontext context = from[i].comm->context;
    TRY(cuCtxPushCurrent(context));
    result = launch(from, count, i);
    TRY(cuCtxPopCurrent(&context));
  }
  return result;
}

struct later {
  ncclComm_t comm;
  int count;
  struct task tasks[MOST_TASKS];
};

static void* launch_later(void* what) {
  struct later* const later = what;
  usleep(50000);
  const ncclComm_t comm = later->comm;
  const ncclResult_t result = launch_all(later->tasks, later->count);
  free(later);
  __atomic_store_n(&comm->state, result, __ATOMIC_RELEASE);
  return NULL;
}

/* A group of a communicator that does not block has that one alone. */
static ncclResult_t start_later(struct task* from, int count) {
  const ncclComm_t comm = from->comm;
  struct later* const later = malloc(sizeof(*later));
  if (later == NULL) return ncclSystemError;
  join_later(comm);
  later->comm = comm;
  later->count = count;
  memcpy(later->tasks, from, (size_t)count * sizeof(*from));
  comm->state = ncclInProgress;
  comm->is_later = pthread_create(&comm->later, NULL, launch_later, later) == 0;
  return comm->is_later ? ncclInProgress : ncclSystemError;
}

static ncclResult_t start(struct task* from, int count) {
  if (count == 0) return ncclSuccess;
  return from->comm->blocking ? launch_all(from, count) : start_later(from, count);
}

ncclResult_t ncclGroupStart(void) {
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  if (depth == 0) return ncclInvalidUsage;
  if (--depth != 0) return ncclSuccess;
  const ncclResult_t failed = group_error;
  const int count = task_count;
  group_error = ncclSuccess;
  task_count = 0;
  return failed != ncclSuccess ? failed : start(tasks, count);
}

static ncclResult_t enqueue(ncclComm_t comm, CUstream stream, struct work work) {
  const int is_right = comm != NULL && task_count < MOST_TASKS;
  if (!is_right) {
    if (depth != 0) group_error = ncclInvalidArgument;
    return ncclInvalidArgument;
  }
  work.meeting = (uint64_t)(uintptr_t)comm->meeting;
  work.rank = comm->rank;
  work.ranks = comm->ranks;
  work.patience = patience();
  struct task task = {comm, stream, work};
  if (depth == 0) return start(&task, 1);
  tasks[task_count++] = task;
  return ncclSuccess;
}

static uint64_t word(const void* address) { return (uint64_t)(uintptr_t)address; }

static ncclResult_t reduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                           ncclComm_t comm, CUstream stream) {
  const int scaled = comm != NULL && op >= ncclNumOps;
  if (type != ncclInt32) return ncclInvalidArgument;
  return enqueue(comm, stream,
                 (struct work){.kind = WORK_REDUCE,
                               .send = word(send),
                               .receive = word(receive),
                               .count = count,
                               .scalar = scaled ? comm->scalar : 0,
                               .peer = root});
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, CUstream stream) {
  if (comm == NULL) return enqueue(comm, stream, (struct work){.peer = -1});
  return reduce(send, receive, count, type, op, -1, comm, stream);
}

ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, CUstream stream) {
  return reduce(send, receive, count, type, op, root, comm, stream);
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, CUstream stream) {
  (void)type;
  return enqueue(
      comm, stream,
      (struct work){
          .kind = WORK_BROADCAST, .send = word(send), .receive = word(receive), .count = count, .peer = root});
}

/* By a public function, as NCCL does: what stands in front of the library sees that call too. */
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                           CUstream stream) {
  (void)type;
  return enqueue(
      comm, stream,
      (struct work){.kind = WORK_GATHER, .send = word(send), .receive = word(receive), .count = count, .peer = -1});
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream) {
  (void)type;
  return enqueue(comm, stream, (struct work){.kind = WORK_SEND, .send = word(send), .count = count, .peer = peer});
}

ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream) {
  (void)type;
  return enqueue(comm, stream,
                 (struct work){.kind = WORK_RECEIVE, .receive = word(receive), .count = count, .peer = peer});
}

/* ---- what it keeps ------------------------------------------------------------------------------ */

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  if (type != ncclInt32 || residence != ncclScalarDevice) return ncclInvalidArgument;
  comm->scalar = word(scalar);
  *op = ncclNumOps;
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t bytes, void** handle) {
  const char* const enabled = getenv("NCCL_CUMEM_ENABLE");
  const CUdeviceptr address = word(buffer);
  char is_legacy = 0;
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
  TRY(cuMemFree(word(buffer)));
  return ncclSuccess;
}

/* ---- the second names --------------------------------------------------------------------------- */

#define ALSO(name) extern __typeof__(name) p##name __attribute__((alias(#name)));
ALSO(ncclGetUniqueId)
ALSO(ncclCommInitAll)
ALSO(ncclCommInitRank)
ALSO(ncclCommInitRankConfig)
ALSO(ncclCommDestroy)
ALSO(ncclCommGetAsyncError)
ALSO(ncclCommCount)
ALSO(ncclCommUserRank)
ALSO(ncclGroupStart)
ALSO(ncclGroupEnd)
ALSO(ncclAllReduce)
ALSO(ncclReduce)
ALSO(ncclBroadcast)
ALSO(ncclBcast)
ALSO(ncclAllGather)
ALSO(ncclSend)
ALSO(ncclRecv)
ALSO(ncclRedOpCreatePreMulSum)
ALSO(ncclCommRegister)
ALSO(ncclCommDeregister)
ALSO(ncclMemAlloc)
ALSO(ncclMemFree)
