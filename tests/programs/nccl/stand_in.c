/* A stand-in for NCCL on the software device, as libnccl.so.2: it uses the driver in the same way as NCCL does.
 *
 * Its kernel finds the program's buffers through a queue in host memory. The work of a group is queued at the end of
 * the group; with a non-blocking communicator, later and by another thread. It allocates device memory of its own when
 * a communicator is created and, on its own thread, with the first work, and has to share that memory with other
 * processes. A buffer can be registered only if it is from cuMemAlloc or one piece of virtual memory, unless
 * NCCL_CUMEM_ENABLE is 0. Ranks are devices of one process (ncclCommInitAll) or processes.
 *
 * Environment: STAND_IN_PATIENCE, the seconds that a kernel waits for other ranks (60).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stand_in_comm.h"

#define MOST_TASKS 64

struct task {
  ncclComm_t comm;
  CUstream stream;
  struct work work;
};

static _Thread_local int depth;
static _Thread_local ncclResult_t group_error;
static _Thread_local int task_count;
static _Thread_local struct task tasks[MOST_TASKS];

static void* allocate_apart(void* of) {
  ncclComm_t comm = of;
  if (cuCtxSetCurrent(comm->context) != CUDA_SUCCESS) return NULL;
  if (allocate_own(&comm->more_staging) != ncclSuccess) comm->more_staging = 0;
  return NULL;
}

/* The allocation made by a proxy thread of NCCL when a connection is set up. */
static ncclResult_t connect_once(ncclComm_t comm) {
  pthread_t proxy;
  if (comm->more_staging != 0) return ncclSuccess;
  if (pthread_create(&proxy, NULL, allocate_apart, comm) != 0) return ncclSystemError;
  pthread_join(proxy, NULL);
  return comm->more_staging != 0 ? ncclSuccess : ncclUnhandledCudaError;
}

/* Launches all tasks of one communicator and stream, from `first` on, together. */
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
    /* The work of a piece has to be over before the piece is overwritten. */
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
  __atomic_store_n(&comm->state, (int)result, __ATOMIC_RELEASE);
  return NULL;
}

/* A group of a non-blocking communicator contains only that communicator. */
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

static int patience(void) {
  const char* const told = getenv("STAND_IN_PATIENCE");
  return told != NULL ? atoi(told) : 60;
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

/* Calls a public function, as NCCL does: interposers see that call too. */
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

ALSO(ncclGroupStart);
ALSO(ncclGroupEnd);
ALSO(ncclAllReduce);
ALSO(ncclReduce);
ALSO(ncclBroadcast);
ALSO(ncclBcast);
ALSO(ncclAllGather);
ALSO(ncclSend);
ALSO(ncclRecv);
