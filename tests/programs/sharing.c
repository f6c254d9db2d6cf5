/* Uses all of its blocks again and again, as programs do that share a device: MIB ROUNDS LAUNCHES [wait].
 *
 * Has MIB MiB in blocks of 4 MiB, and launches LAUNCHES kernels for each block in each round. With "wait" it prints
 * "idle" then, reads its input to the end, and does the rounds once more. Prints the time of the last rounds in
 * milliseconds, after it has checked every number.
 *
 * Thread safety: one thread.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "check.h"

#define BLOCK ((size_t)4 << 20)
#define NUMBERS ((int)(BLOCK / sizeof(int)))
#define MOST_BLOCKS 4096

static CUdeviceptr blocks[MOST_BLOCKS];
static int count, launches;
static CUstream stream;
static CUmodule module;

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double run(int rounds) {
  int numbers = NUMBERS;
  const double begin = milliseconds();
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count; ++i) {
      void* parameters[] = {&blocks[i], &numbers};
      for (int k = 0; k < launches; ++k) CHECK(launch_threads(module, "add_one", NUMBERS, stream, parameters));
    }
    CHECK(cuStreamSynchronize(stream));
  }
  return milliseconds() - begin;
}

int main(int argc, char** argv) {
  CUcontext context;
  if (argc < 4) return 2;
  const int rounds = atoi(argv[2]), waits = argc > 4 && strcmp(argv[4], "wait") == 0;
  count = (int)(((size_t)atoi(argv[1]) << 20) / BLOCK);
  launches = atoi(argv[3]);
  if (count > MOST_BLOCKS) return 2;
  open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuModuleLoad(&module, "preload_kernels.so"));
  for (int i = 0; i < count; ++i) blocks[i] = zeroed(BLOCK, stream);
  double time = run(rounds);
  if (waits) {
    char byte;
    printf("idle\n");
    fflush(stdout);
    while (fread(&byte, 1, 1, stdin) == 1) continue;
    time = run(rounds);
  }
  for (int i = 0; i < count; ++i) {
    if (!block_holds(blocks[i], NUMBERS, i, rounds * launches * (waits ? 2 : 1))) return 1;
  }
  printf("%.0f\n", time);
  return 0;
}
