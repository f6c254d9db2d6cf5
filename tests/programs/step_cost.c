/* What the calls of a training step cost the calling thread, with warm and with cold caches.
 *
 * Why cold: between two calls a framework runs enough code of its own to evict a library's from the core's caches. Then
 * a call costs by the cache lines that it touches, which a loop over the same call does not show.
 *
 * Usage: step_cost KERNELS ROUNDS. Prints a line for each call: its name, and the median nanoseconds of the calling
 * thread warm and cold. Cold means that WALK bytes were read and written since the call before. Before anything is
 * measured, it makes as many launches as are recorded for a program that is not short of memory.
 */
#define _POSIX_C_SOURCE 200809L
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

enum { POINTERS = 16, BLOCKS = 2048, NOTED = 1 << 17, LINE = 64 };
#define WALK ((size_t)8 << 20) /* more than a core's own caches hold */

static CUdeviceptr blocks[BLOCKS], made;
static CUfunction sixteen;
static CUstream stream;
static CUevent event;
static unsigned char* walked;
static unsigned turn;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Four of the blocks, others each time. A launch of no threads is refused: that costs the driver next to nothing, and
 * wakes no thread of a software device. */
static void launch(unsigned grid, unsigned threads, unsigned from) {
  void* parameters[POINTERS];
  for (unsigned i = 0; i < POINTERS; ++i) parameters[i] = &blocks[(from + 7 * turn + 31 * (i % 4)) % BLOCKS];
  const CUresult result = cuLaunchKernel(sixteen, grid, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
  if (threads != 0) check(result, "cuLaunchKernel");
}

static void queue(void) { launch(2, 1, 0); }
static void refused(void) { launch(2, 0, 0); }
static void refused_one_block(void) { launch(1, 0, BLOCKS / 2); } /* it may hand addresses on to later kernels */
static void allocate(void) { CHECK(cuMemAllocAsync(&made, (size_t)4096 * (1 + turn % 64), stream)); }
static void release(void) { CHECK(cuMemFreeAsync(made, stream)); }
static void record(void) { CHECK(cuEventRecord(event, stream)); }
static void ask_event(void) { (void)cuEventQuery(event); }
static void ask_stream(void) { (void)cuStreamQuery(stream); }
static void set(void) { CHECK(cuMemsetD32Async(blocks[turn % BLOCKS], 0, 64, stream)); }

static const struct {
  const char* name;
  void (*call)(void);
} calls[] = {{"launch", queue},
             {"refused_launch", refused},
             {"refused_launch_of_one_block", refused_one_block},
             {"allocate", allocate},
             {"free", release},
             {"record_event", record},
             {"query_event", ask_event},
             {"query_stream", ask_stream},
             {"set", set}};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static void walk(void) {
  for (size_t at = 0; at < WALK; at += LINE) ++walked[at];
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The median of each call. The calls alternate, so a block that is allocated is the one that is freed next. */
static void measure(double* medians, int rounds, int cold) {
  double* const seen = malloc((size_t)rounds * CALLS * sizeof(double));
  for (int round = 0; round < rounds; ++round, ++turn) {
    for (int i = 0; i < CALLS; ++i) {
      if (cold) walk();
      const double start = now();
      calls[i].call();
      seen[i * rounds + round] = now() - start;
    }
    if (round % 64 == 0) CHECK(cuStreamSynchronize(stream)); /* the stream's queue never fills */
  }
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < CALLS; ++i) {
    qsort(seen + i * rounds, (size_t)rounds, sizeof(double), ascending);
    medians[i] = seen[i * rounds + rounds / 2];
  }
  free(seen);
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  if (argc != 3 || atoi(argv[2]) < 1) {
    fprintf(stderr, "usage: step_cost KERNELS ROUNDS\n");
    return 2;
  }
  const int rounds = atoi(argv[2]);
  double warm[CALLS], cold[CALLS];
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&sixteen, module, "sixteen"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemAllocAsync(&blocks[i], (size_t)4096 * (1 + (unsigned)i % 64), stream));
  walked = calloc(1, WALK);
  for (turn = 0; turn < NOTED; ++turn) launch(2, 0, 0);
  measure(warm, rounds, 0);
  measure(warm, rounds, 0);
  measure(cold, rounds, 1);
  for (int i = 0; i < CALLS; ++i) printf("%s %.0f %.0f\n", calls[i].name, warm[i], cold[i]);
  free(walked);
  return 0;
}
