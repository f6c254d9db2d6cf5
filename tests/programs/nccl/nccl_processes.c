/* Two processes with one device each that work together through NCCL, over more memory than a small device holds.
 *
 * Usage: nccl_processes WAY
 *   blocks  calls return when their work is queued
 *   later   a thread of NCCL queues the work later; meanwhile other blocks are used
 * Each process finds NCCL's functions by dlsym, as Python programs do. Starts itself once for each rank, with the rank
 * and the communicator's id after WAY. Prints "ok" if both ended normally.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

#define RANKS 2

static struct job job;
static void* library;

static void* find(const char* name) {
  void* const found = dlsym(library, name);
  if (found != NULL) return found;
  fprintf(stderr, "%s: %s\n", name, dlerror());
  _exit(1);
}

static void find_nccl(void) {
  library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    _exit(1);
  }
  job.nccl.group_start = find("ncclGroupStart");
  job.nccl.group_end = find("ncclGroupEnd");
  job.nccl.all_reduce = find("ncclAllReduce");
  job.nccl.reduce = find("ncclReduce");
  job.nccl.broadcast = find("ncclBroadcast");
  job.nccl.bcast = find("ncclBcast");
  job.nccl.all_gather = find("ncclAllGather");
  job.nccl.send = find("ncclSend");
  job.nccl.receive = find("ncclRecv");
  job.nccl.async_error = find("ncclCommGetAsyncError");
}

static void until_queued(struct job* of, int one, int other) {
  ncclResult_t state = ncclInProgress;
  write_others(of, one, other);
  while (state == ncclInProgress) {
    NCCL_CHECK(of->nccl.async_error(of->comm[of->first], &state));
    usleep(1000);
  }
  nccl_check(state, "the work of a group");
}

static int be_rank(const char* way, int rank, const char* name) {
  __typeof__(ncclCommInitRankConfig)* init;
  __typeof__(ncclCommDestroy)* destroy;
  const int later = strcmp(way, "later") == 0;
  ncclConfig_t config = {.size = sizeof(config), .blocking = !later};
  ncclUniqueId id = {{0}};
  find_nccl();
  init = (__typeof__(init))find("ncclCommInitRankConfig");
  destroy = (__typeof__(destroy))find("ncclCommDestroy");
  strncpy(id.internal, name, sizeof(id.internal) - 1);
  job.ranks = RANKS;
  job.first = rank;
  job.local = 1;
  (void)open_device(&job.context[rank]);
  make_blocks(&job, rank);
  NCCL_CHECK(init(&job.comm[rank], RANKS, id, rank, &config));
  do_rounds(&job, 2 * KINDS, later ? until_queued : NULL);
  if (!all_right(&job)) return 1;
  NCCL_CHECK(destroy(job.comm[rank]));
  return 0;
}

static pid_t start(const char* program, const char* way, int rank, const char* name) {
  char number[16];
  snprintf(number, sizeof(number), "%d", rank);
  const pid_t child = fork();
  if (child != 0) return child;
  execl(program, program, way, number, name, (char*)NULL);
  _exit(127);
}

int main(int count, char** arguments) {
  char name[64];
  int right = 1;
  if (count == 4) return be_rank(arguments[1], atoi(arguments[2]), arguments[3]);
  if (count != 2) return 2;
  snprintf(name, sizeof(name), "/nccl-stand-in-%d", (int)getpid());
  pid_t ranks[RANKS];
  for (int rank = 0; rank < RANKS; ++rank) ranks[rank] = start(arguments[0], arguments[1], rank, name);
  for (int rank = 0; rank < RANKS; ++rank) {
    int status = 0;
    right &= waitpid(ranks[rank], &status, 0) == ranks[rank] && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (!right) return 1;
  puts("ok");
  return 0;
}
