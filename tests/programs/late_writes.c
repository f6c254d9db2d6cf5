/* Kernels that write to a block unseen while it is being evicted: they got only the address of a table, made by an
 * earlier kernel.
 *
 * Usage: late_writes KERNELS
 * Another thread needs room, so eviction of the block, which no recent launch has named, begins. From then on kernels
 * add to it, one after another. Their additions are present at the end, or one of the kernels faults. Prints "ok",
 * "told", or the number of wrong values.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"

#define BYTES (4 << 20)
#define COUNT (BYTES / (int)sizeof(int))
#define ADDED 100    /* kernels that write unseen */
#define FORGOTTEN 40 /* launches after which a table is no longer known to name the block */

static CUcontext context;
static CUmodule module;
static CUstream stream;
static volatile int room_is_needed;

/* The context is lost, and the other thread may wait for it, or be told as well: the first one ends the program. */
static void end_told(void) {
  static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&first);
  puts("told");
  fflush(stdout);
  _exit(0);
}

/* It waits for the copy of what leaves. */
static void* need_room(void* unused) {
  CUdeviceptr block;
  CHECK(cuCtxSetCurrent(context));
  room_is_needed = 1;
  const CUresult result = cuMemAlloc(&block, BYTES);
  if (result == CUDA_ERROR_ILLEGAL_ADDRESS) end_told();
  CHECK(result);
  return unused;
}

int main(int argc, char** argv) {
  int one = 1, count = COUNT, blocks = 1;
  long long first, step = BYTES;
  pthread_t thread;
  if (argc != 2) return 2;
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr table = zeroed(4096, stream), block = zeroed(BYTES, stream), other = zeroed(BYTES, stream);
  first = (long long)block;
  void* range[] = {&table, &first, &step, &blocks};
  CHECK(launch_threads(module, "address_range", 1, stream, range));
  for (int i = 0; i < FORGOTTEN; ++i) {
    void* parameters[] = {&other, &one, &one};
    CHECK(launch_threads(module, "add_to", 1, stream, parameters));
  }
  CHECK(cuStreamSynchronize(stream));
  if (pthread_create(&thread, NULL, need_room, NULL) != 0) return 1;
  while (!room_is_needed) {
  }
  for (int i = 0; i < ADDED; ++i) {
    void* parameters[] = {&table, &blocks, &count, &one};
    CUresult result = launch_threads(module, "add_to_all", COUNT, stream, parameters);
    if (result == CUDA_SUCCESS) result = cuStreamSynchronize(stream);
    if (result == CUDA_SUCCESS) continue;
    end_told();
  }
  pthread_join(thread, NULL);
  if (!block_holds(block, COUNT, 0, ADDED)) {
    puts("some numbers are wrong, and no error was reported");
    return 1;
  }
  puts("ok");
  return 0;
}
