/* Data shared by the stand-in's host code and its kernel: the work queue, and the meeting of the ranks.
 *
 * Both are in host memory, like NCCL's: the kernel gets only the queue's address, so that no launch parameter shows a
 * buffer of the program.
 *
 * Thread safety: a meeting is used by one thread of each rank; a piece of work is written before its launch.
 */
#ifndef TESSERA_PROGRAMS_NCCL_STAND_IN_WORK_H
#define TESSERA_PROGRAMS_NCCL_STAND_IN_WORK_H

#include <stdint.h>

#define STAND_IN_RANKS 4
#define STAND_IN_CHUNK (1 << 14) /* numbers that are passed on at once */

/* In memory shared by all ranks, of one process or of several. Counters only increase. */
struct meeting {
  uint32_t arrived; /* ranks at the current barrier */
  uint32_t barrier; /* barriers passed by all */
  uint32_t joined;  /* ranks that have a communicator */
  uint32_t lost;    /* a rank has waited in vain: no other waits any longer */
  int32_t slot[STAND_IN_RANKS][STAND_IN_CHUNK];
  uint32_t put[STAND_IN_RANKS][STAND_IN_RANKS]; /* chunks from one rank to another */
  uint32_t got[STAND_IN_RANKS][STAND_IN_RANKS];
  int32_t mail[STAND_IN_RANKS][STAND_IN_RANKS][STAND_IN_CHUNK];
};

enum work_kind { WORK_REDUCE, WORK_BROADCAST, WORK_GATHER, WORK_SEND, WORK_RECEIVE };

struct work {
  uint64_t send, receive; /* addresses of the program's buffers */
  uint64_t staging;       /* of NCCL's own memory, STAND_IN_CHUNK numbers */
  uint64_t scalar;        /* what sent numbers are multiplied by; 0: nothing */
  uint64_t meeting;
  uint64_t count;
  int32_t kind, rank, ranks;
  int32_t peer;     /* or root; -1: every rank is one */
  int32_t patience; /* seconds that it waits for other ranks */
  uint64_t done;    /* numbers sent or received so far */
};

#endif
