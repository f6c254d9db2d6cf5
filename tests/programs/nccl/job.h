/* Blocks of several ranks, NCCL work on them, and their expected final contents.
 *
 * All numbers in half a block are equal, so each rank represents the contents of any rank's block by two numbers.
 * Before each piece of work other blocks are written, so that on a small device the blocks needed by the work have been
 * evicted. NCCL's functions come as a table: the program decides how to find them.
 *
 * Thread safety: one thread.
 */
#ifndef TESSERA_PROGRAMS_NCCL_JOB_H
#define TESSERA_PROGRAMS_NCCL_JOB_H

#include <stdint.h>
#include <unistd.h>

#include "check.h"
#include "stand_in.h"

#define MOST_RANKS 2
#define BLOCKS 8
#define HALF (1 << 18)
#define COUNT (2 * HALF)
#define BYTES (COUNT * sizeof(int))

struct nccl {
  __typeof__(ncclGroupStart)* group_start;
  __typeof__(ncclGroupEnd)* group_end;
  __typeof__(ncclAllReduce)* all_reduce;
  __typeof__(ncclReduce)* reduce;
  __typeof__(ncclBroadcast)* broadcast;
  __typeof__(ncclBcast)* bcast;
  __typeof__(ncclAllGather)* all_gather;
  __typeof__(ncclSend)* send;
  __typeof__(ncclRecv)* receive;
  __typeof__(ncclCommGetAsyncError)* async_error;
};

struct job {
  struct nccl nccl;
  int ranks, first, local; /* the ranks of this process begin at `first` */
  CUcontext context[MOST_RANKS];
  CUstream stream[MOST_RANKS], beside[MOST_RANKS];
  ncclComm_t comm[MOST_RANKS];
  CUdeviceptr block[MOST_RANKS][BLOCKS];
  int expected[MOST_RANKS][BLOCKS][2];
  int written; /* counts what was written, so that no two blocks are equal */
};

static inline void nccl_check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  fprintf(stderr, "%s: NCCL's error %d\n", call, (int)result);
  _exit(1);
}
#define NCCL_CHECK(call) nccl_check(call, #call)

#define FOR_EACH_LOCAL(job, rank) for (int rank = (job)->first; rank < (job)->first + (job)->local; ++rank)

static inline void* pointer(CUdeviceptr address) { return (void*)(uintptr_t)address; }

/* On the rank's device; its context stays current. */
static inline void make_blocks(struct job* job, int rank) {
  CHECK(cuCtxSetCurrent(job->context[rank]));
  CHECK(cuStreamCreate(&job->stream[rank], CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&job->beside[rank], CU_STREAM_NON_BLOCKING));
  for (int b = 0; b < BLOCKS; ++b) {
    CHECK(cuMemAlloc(&job->block[rank][b], BYTES));
    CHECK(cuMemsetD32Async(job->block[rank][b], 0, COUNT, job->stream[rank]));
  }
}

/* Every rank tracks the contents for all ranks. */
static inline void write_block(struct job* job, int b) {
  for (int rank = 0; rank < job->ranks; ++rank) {
    for (int half = 0; half < 2; ++half) job->expected[rank][b][half] = ++job->written;
  }
  FOR_EACH_LOCAL(job, rank) {
    const CUdeviceptr first = job->block[rank][b], second = first + HALF * sizeof(int);
    const int* const numbers = job->expected[rank][b];
    CHECK(cuCtxSetCurrent(job->context[rank]));
    CHECK(cuMemsetD32Async(first, (unsigned)numbers[0], HALF, job->stream[rank]));
    CHECK(cuMemsetD32Async(second, (unsigned)numbers[1], HALF, job->stream[rank]));
  }
}

/* Writes all but two blocks, on another stream than the work's, so that these two are evicted first. */
static inline void write_others(struct job* job, int one, int other) {
  FOR_EACH_LOCAL(job, rank) {
    CHECK(cuCtxSetCurrent(job->context[rank]));
    for (int b = 0; b < BLOCKS; ++b) {
      const int* const numbers = job->expected[rank][b];
      if (b == one || b == other) continue;
      CHECK(cuStreamSynchronize(job->stream[rank]));
      CHECK(cuMemsetD32Async(job->block[rank][b], (unsigned)numbers[0], HALF, job->beside[rank]));
    }
    CHECK(cuStreamSynchronize(job->beside[rank]));
  }
}

/* Records the expected numbers of block `to` on `rank`; called for the ranks that a collective changed. */
static inline void expect(struct job* job, int rank, int to, int first, int second) {
  job->expected[rank][to][0] = first;
  job->expected[rank][to][1] = second;
}

static inline int sum_of(const struct job* job, int from, int half) {
  int sum = 0;
  for (int rank = 0; rank < job->ranks; ++rank) sum += job->expected[rank][from][half];
  return sum;
}

static inline void all_reduce(struct job* job, int from, int to) {
  const int first = sum_of(job, from, 0), second = sum_of(job, from, 1);
  FOR_EACH_LOCAL(job, r) {
    NCCL_CHECK(job->nccl.all_reduce(pointer(job->block[r][from]), pointer(job->block[r][to]), COUNT, ncclInt32, ncclSum,
                                    job->comm[r], job->stream[r]));
  }
  for (int rank = 0; rank < job->ranks; ++rank) expect(job, rank, to, first, second);
}

/* To the last rank; on the other ranks the receive buffer is not used. */
static inline void reduce(struct job* job, int from, int to) {
  const int root = job->ranks - 1;
  FOR_EACH_LOCAL(job, r) {
    NCCL_CHECK(job->nccl.reduce(pointer(job->block[r][from]), r == root ? pointer(job->block[r][to]) : NULL, COUNT,
                                ncclInt32, ncclSum, root, job->comm[r], job->stream[r]));
  }
  expect(job, root, to, sum_of(job, from, 0), sum_of(job, from, 1));
}

static inline void broadcast(struct job* job, int from, int to) {
  FOR_EACH_LOCAL(job, r) {
    NCCL_CHECK(job->nccl.broadcast(r == 0 ? pointer(job->block[r][from]) : NULL, pointer(job->block[r][to]), COUNT,
                                   ncclInt32, 0, job->comm[r], job->stream[r]));
  }
  for (int rank = 0; rank < job->ranks; ++rank) {
    expect(job, rank, to, job->expected[0][from][0], job->expected[0][from][1]);
  }
}

static inline void broadcast_in_place(struct job* job, int from, int unused) {
  (void)unused;
  FOR_EACH_LOCAL(job, r) {
    NCCL_CHECK(job->nccl.bcast(pointer(job->block[r][from]), COUNT, ncclInt32, 0, job->comm[r], job->stream[r]));
  }
  for (int rank = 0; rank < job->ranks; ++rank) {
    expect(job, rank, from, job->expected[0][from][0], job->expected[0][from][1]);
  }
}

/* The first half of each rank's block; with a single rank there is one half. */
static inline void all_gather(struct job* job, int from, int to) {
  const int last = job->ranks - 1;
  FOR_EACH_LOCAL(job, r) {
    NCCL_CHECK(job->nccl.all_gather(pointer(job->block[r][from]), pointer(job->block[r][to]), HALF, ncclInt32,
                                    job->comm[r], job->stream[r]));
  }
  for (int rank = 0; rank < job->ranks; ++rank) {
    const int second = last == 0 ? job->expected[rank][to][1] : job->expected[last][from][0];
    expect(job, rank, to, job->expected[0][from][0], second);
  }
}

/* Sends each rank's block to the next rank. */
static inline void pass_on(struct job* job, int from, int to) {
  FOR_EACH_LOCAL(job, r) {
    const int next = (r + 1) % job->ranks, previous = (r + job->ranks - 1) % job->ranks;
    NCCL_CHECK(job->nccl.send(pointer(job->block[r][from]), COUNT, ncclInt32, next, job->comm[r], job->stream[r]));
    NCCL_CHECK(job->nccl.receive(pointer(job->block[r][to]), COUNT, ncclInt32, previous, job->comm[r], job->stream[r]));
  }
  for (int rank = 0; rank < job->ranks; ++rank) {
    const int* const sent = job->expected[(rank + job->ranks - 1) % job->ranks][from];
    expect(job, rank, to, sent[0], sent[1]);
  }
}

typedef void (*kind_of_work)(struct job* job, int from, int to);
static const kind_of_work kinds[] = {all_reduce, reduce, broadcast, broadcast_in_place, all_gather, pass_on};
#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

/* Work of every kind, with all blocks in turn; `wait` gets the two blocks in use after the work was queued. */
static inline void do_rounds(struct job* job, int rounds, void (*wait)(struct job*, int, int)) {
  for (int round = 0; round < rounds; ++round) {
    const int from = round % BLOCKS, to = (round + 3) % BLOCKS;
    write_block(job, (round + 5) % BLOCKS);
    write_block(job, from);
    write_others(job, from, to);
    for (int b = 0; b < BLOCKS; ++b) {
      if (b != from && b != to) write_block(job, b);
    }
    NCCL_CHECK(job->nccl.group_start());
    kinds[round % KINDS](job, from, to);
    const ncclResult_t ended = job->nccl.group_end();
    if (ended != ncclInProgress) nccl_check(ended, "ncclGroupEnd");
    if (wait != NULL) wait(job, from, to);
  }
}

static inline int all_right(struct job* job) {
  int right = 1;
  FOR_EACH_LOCAL(job, rank) {
    CHECK(cuCtxSetCurrent(job->context[rank]));
    CHECK(cuStreamSynchronize(job->stream[rank]));
    for (int b = 0; b < BLOCKS && right; ++b) {
      const CUdeviceptr first = job->block[rank][b];
      right = block_holds(first, HALF, b, job->expected[rank][b][0]) &&
              block_holds(first + HALF * sizeof(int), HALF, b, job->expected[rank][b][1]);
    }
  }
  return right;
}

#endif
