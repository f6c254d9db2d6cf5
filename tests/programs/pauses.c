/* A program that pauses: it launches when it is told to, and prints a line for each word on standard input.
 *
 * Usage: pauses KERNELS
 * Begins with blocks that a kernel has filled, and prints its process id. Then
 *   use    the blocks must hold what was written last; a kernel writes other numbers       -> "ok"
 *   hold   a kernel begins on the first block and waits, for longer than any pause          -> "held"
 *   go     that kernel goes on and ends                                                      -> "ok"
 * The end of the input ends it.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 4
#define BYTES (4 << 20)
#define COUNT (BYTES / (int)sizeof(int))

static CUmodule module;
static CUdeviceptr block[BLOCKS];
static int round_number;

static void fill(CUdeviceptr target, int value) {
  int count = COUNT;
  void* parameters[] = {&target, &value, &count};
  CHECK(launch_threads(module, "fill", COUNT, NULL, parameters));
}

static void fill_all(void) {
  ++round_number;
  for (int i = 0; i < BLOCKS; ++i) fill(block[i], 100 * round_number + i);
}

static int all_hold(void) {
  int right = 1;
  for (int i = 0; i < BLOCKS; ++i) right &= block_holds(block[i], COUNT, i, 100 * round_number + i);
  return right;
}

int main(int argc, char** argv) {
  CUcontext context;
  CUdeviceptr flag_there;
  volatile int* flag;
  void* pinned;
  char line[16];
  if (argc != 2) return 2;
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuMemHostAlloc(&pinned, sizeof(int), CU_MEMHOSTALLOC_DEVICEMAP));
  CHECK(cuMemHostGetDevicePointer(&flag_there, pinned, 0));
  flag = pinned;
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemAlloc(&block[i], BYTES));
  fill_all();
  CHECK(cuCtxSynchronize());
  printf("%d\n", (int)getpid());
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL) {
    const char* answer = "ok";
    if (strcmp(line, "use\n") == 0) {
      if (!all_hold()) answer = "wrong";
      fill_all();
    } else if (strcmp(line, "hold\n") == 0) {
      void* parameters[] = {&flag_there};
      *flag = 0;
      fill_all();
      CHECK(launch_threads(module, "await", 1, NULL, parameters));
      answer = "held";
    } else if (strcmp(line, "go\n") == 0) {
      *flag = 1;
      CHECK(cuCtxSynchronize());
    } else {
      answer = "what?";
    }
    puts(answer);
    fflush(stdout);
  }
  return 0;
}
