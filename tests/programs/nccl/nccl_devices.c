/* One process with several devices that work together through NCCL, over more memory than a small device holds.
 *
 * Usage: nccl_devices WAY [DEVICES]
 *   groups    work of every kind, in groups
 *   default   the same on the devices' default streams
 *   threads   the same with a thread for each device
 *   graph     the same work captured into graphs, which are launched several times
 *   alone     a communicator of one rank, with calls outside groups
 *   past      the same, through the alternative names of NCCL's functions
 *   kept      a buffer is registered, a scalar is read by every reduction, memory is NCCL's
 *   peers     prints the driver's peer access results for the program and for NCCL
 * Prints "ok" or what failed.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

static const struct nccl bound = {ncclGroupStart, ncclGroupEnd,  ncclAllReduce, ncclReduce, ncclBroadcast,
                                  ncclBcast,      ncclAllGather, ncclSend,      ncclRecv,   ncclCommGetAsyncError};
static const struct nccl past = {pncclGroupStart, pncclGroupEnd,  pncclAllReduce, pncclReduce, pncclBroadcast,
                                 pncclBcast,      pncclAllGather, pncclSend,      pncclRecv,   pncclCommGetAsyncError};

static struct job job;

static void open_devices(int devices) {
  CHECK(cuInit(0));
  job.ranks = job.local = devices;
  for (int rank = 0; rank < devices; ++rank) {
    CHECK(cuDevicePrimaryCtxRetain(&job.context[rank], rank));
  }
  CHECK(cuCtxSetCurrent(job.context[0]));
}

static void make_all(void) {
  for (int rank = 0; rank < job.ranks; ++rank) make_blocks(&job, rank);
  NCCL_CHECK(ncclCommInitAll(job.comm, job.ranks, NULL));
}

static void destroy_all(void) {
  for (int rank = 0; rank < job.ranks; ++rank) NCCL_CHECK(ncclCommDestroy(job.comm[rank]));
}

static void on_default_streams(void) {
  for (int rank = 0; rank < job.ranks; ++rank) {
    CHECK(cuCtxSetCurrent(job.context[rank]));
    CHECK(cuStreamSynchronize(job.stream[rank]));
    job.stream[rank] = NULL;
  }
}

struct rank_of_thread {
  struct job job;
  ncclUniqueId id;
  int right;
};

static void* be_thread(void* what) {
  struct rank_of_thread* const own = what;
  const int rank = own->job.first;
  make_blocks(&own->job, rank);
  NCCL_CHECK(ncclCommInitRank(&own->job.comm[rank], own->job.ranks, own->id, rank));
  do_rounds(&own->job, 2 * KINDS, NULL);
  own->right = all_right(&own->job);
  NCCL_CHECK(ncclCommDestroy(own->job.comm[rank]));
  return NULL;
}

static int do_threads(void) {
  static struct rank_of_thread own[MOST_RANKS];
  pthread_t thread[MOST_RANKS];
  int right = 1;
  ncclUniqueId id;
  NCCL_CHECK(ncclGetUniqueId(&id));
  for (int rank = 0; rank < job.ranks; ++rank) {
    own[rank].job = job;
    own[rank].job.first = rank;
    own[rank].job.local = 1;
    own[rank].id = id;
    if (pthread_create(&thread[rank], NULL, be_thread, &own[rank]) != 0) return 1;
  }
  for (int rank = 0; rank < job.ranks; ++rank) {
    pthread_join(thread[rank], NULL);
    right &= own[rank].right;
  }
  if (!right) return 1;
  puts("ok");
  return 0;
}

/* A graph for each device with its part of the work. */
static void do_graphs(void) {
  CUgraph graph[MOST_RANKS];
  CUgraphExec exec[MOST_RANKS];
  const int from = 2, to = 6;
  for (int rank = 0; rank < job.ranks; ++rank) {
    CHECK(cuCtxSetCurrent(job.context[rank]));
    CHECK(cuStreamBeginCapture(job.stream[rank], CU_STREAM_CAPTURE_MODE_RELAXED));
  }
  NCCL_CHECK(job.nccl.group_start());
  all_reduce(&job, from, to);
  NCCL_CHECK(job.nccl.group_end());
  for (int rank = 0; rank < job.ranks; ++rank) {
    CHECK(cuCtxSetCurrent(job.context[rank]));
    CHECK(cuStreamEndCapture(job.stream[rank], &graph[rank]));
    CHECK(cuGraphInstantiate(&exec[rank], graph[rank], 0));
    CHECK(cuGraphDestroy(graph[rank]));
  }
  for (int launch = 0; launch < 3; ++launch) {
    write_block(&job, from);
    for (int b = 0; b < BLOCKS; ++b) {
      if (b != from) write_block(&job, b);
    }
    write_others(&job, from, to);
    for (int rank = 0; rank < job.ranks; ++rank) {
      CHECK(cuCtxSetCurrent(job.context[rank]));
      CHECK(cuGraphLaunch(exec[rank], job.stream[rank]));
    }
    const int first = sum_of(&job, from, 0), second = sum_of(&job, from, 1);
    for (int rank = 0; rank < job.ranks; ++rank) expect(&job, rank, to, first, second);
  }
  for (int rank = 0; rank < job.ranks; ++rank) CHECK(cuStreamSynchronize(job.stream[rank]));
  for (int rank = 0; rank < job.ranks; ++rank) CHECK(cuGraphExecDestroy(exec[rank]));
}

static ncclResult_t no_group(void) { return ncclSuccess; }

static void do_alone(struct nccl functions) {
  job.nccl = functions;
  job.nccl.group_start = no_group;
  job.nccl.group_end = no_group;
  for (int i = 0; i < 3; ++i) {
    write_block(&job, i);
    write_others(&job, i, i + 4);
    all_reduce(&job, i, i + 4);
  }
}

/* The registration is for a block that moves; the scalar is in a block that no launch shows. */
static void do_kept(void) {
  void *handle = NULL, *own;
  CUdeviceptr scalar;
  CUipcMemHandle shared;
  ncclRedOp_t scaled;
  NCCL_CHECK(ncclCommRegister(job.comm[0], pointer(job.block[0][1]), BYTES, &handle));
  CHECK(cuMemAlloc(&scalar, BYTES));
  CHECK(cuMemsetD32(scalar, 3, COUNT));
  NCCL_CHECK(ncclRedOpCreatePreMulSum(&scaled, pointer(scalar), ncclInt32, ncclScalarDevice, job.comm[0]));
  NCCL_CHECK(ncclMemAlloc(&own, BYTES));
  CHECK(cuIpcGetMemHandle(&shared, (CUdeviceptr)(uintptr_t)own));
  write_block(&job, 1);
  write_others(&job, 1, 2);
  NCCL_CHECK(ncclAllReduce(pointer(job.block[0][1]), own, COUNT, ncclInt32, scaled, job.comm[0], job.stream[0]));
  NCCL_CHECK(ncclBroadcast(own, pointer(job.block[0][2]), COUNT, ncclInt32, 0, job.comm[0], job.stream[0]));
  expect(&job, 0, 2, 3 * job.expected[0][1][0], 3 * job.expected[0][1][1]);
  NCCL_CHECK(ncclCommDeregister(job.comm[0], handle));
  CHECK(cuStreamSynchronize(job.stream[0]));
  NCCL_CHECK(ncclMemFree(own));
}

/* NCCL has a rank on the first device, though the process has contexts of both; then ranks on both. */
static int tell_peers(int devices) {
  int told = -1;
  ncclComm_t alone;
  CHECK(cuDeviceCanAccessPeer(&told, 0, 1));
  NCCL_CHECK(ncclCommInitAll(&alone, 1, NULL));
  printf("the program: %d, NCCL of one device: %d, ", told, stand_in_sees_peers(0, 1));
  NCCL_CHECK(ncclCommInitAll(job.comm, devices, NULL));
  CHECK(cuDeviceCanAccessPeer(&told, 0, 1));
  printf("NCCL of both: %d, the program: %d\n", stand_in_sees_peers(0, 1), told);
  for (int rank = 0; rank < devices; ++rank) NCCL_CHECK(ncclCommDestroy(job.comm[rank]));
  NCCL_CHECK(ncclCommDestroy(alone));
  return 0;
}

int NCCL_DEVICES_MAIN(int count, char** arguments);

/* Also a function of a library (nccl_extension.c). */
int NCCL_DEVICES_MAIN(int count, char** arguments) {
  const char* const way = count > 1 ? arguments[1] : "";
  const int devices = count > 2 ? atoi(arguments[2]) : 1;
  if (devices < 1 || devices > MOST_RANKS) return 2;
  open_devices(devices);
  job.nccl = bound;
  if (strcmp(way, "peers") == 0) return tell_peers(devices);
  if (strcmp(way, "threads") == 0) return do_threads();
  make_all();
  if (strcmp(way, "default") == 0) on_default_streams();
  if (strcmp(way, "groups") == 0 || strcmp(way, "default") == 0)
    do_rounds(&job, 3 * KINDS, NULL);
  else if (strcmp(way, "graph") == 0)
    do_graphs();
  else if (strcmp(way, "alone") == 0)
    do_alone(bound);
  else if (strcmp(way, "past") == 0)
    do_alone(past);
  else if (strcmp(way, "kept") == 0)
    do_kept();
  else
    return 2;
  if (!all_right(&job)) return 1;
  destroy_all();
  puts("ok");
  return 0;
}
