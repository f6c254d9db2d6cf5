/* Kernels that write to a block unseen while it is on its way back to device memory: they got only the address of a
 * table, made by an earlier kernel.
 *
 * Usage: early_writes KERNELS
 * The block is evicted and prefetched. The link has another block to move first, so a kernel that is launched right
 * then begins before the bytes are there. What it writes is present at the end, or it faults. Without Tessera nothing
 * moves. Prints "ok", "told", or what was lost.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>

#include "check.h"
#include "tessera/interpose.h"
#include "tessera/tessera.h"

#define BYTES (4 << 20)
#define COUNT (BYTES / (int)sizeof(int))
#define ROUNDS 3
#define FORGOTTEN 40 /* launches after which a table is no longer known to name the block */

static CUmodule module;
static CUstream stream;

/* Out, and on the way in again, in this order. */
static void move(const tessera_address* blocks, size_t count) {
  tessera_result (*shared)(tessera_allocator**);
  tessera_result (*evict)(tessera_allocator*, const tessera_address*, size_t);
  tessera_result (*prefetch)(tessera_allocator*, const tessera_address*, size_t);
  tessera_allocator* allocator = NULL;
  *(void**)&shared = dlsym(RTLD_DEFAULT, "tessera_shared");
  *(void**)&evict = dlsym(RTLD_DEFAULT, "tessera_evict");
  *(void**)&prefetch = dlsym(RTLD_DEFAULT, "tessera_prefetch");
  if (shared == NULL) return;
  if (evict == NULL || prefetch == NULL || shared(&allocator) != TESSERA_OK ||
      evict(allocator, blocks, count) != TESSERA_OK || prefetch(allocator, blocks, count) != TESSERA_OK) {
    fputs("the blocks could not be moved\n", stderr);
    exit(1);
  }
}

int main(int argc, char** argv) {
  CUcontext context;
  int one = 1, count = COUNT, blocks = 1;
  long long first, step = BYTES;
  if (argc != 2) return 2;
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr table = zeroed(4096, stream), block = zeroed(BYTES, stream), other = zeroed(BYTES, stream),
              before = zeroed(2 * BYTES, stream);
  first = (long long)block;
  void* range[] = {&table, &first, &step, &blocks};
  CHECK(launch_threads(module, "address_range", 1, stream, range));
  for (int i = 0; i < FORGOTTEN; ++i) {
    void* parameters[] = {&other, &one, &one};
    CHECK(launch_threads(module, "add_to", 1, stream, parameters));
  }
  CHECK(cuStreamSynchronize(stream));
  for (int round = 0; round < ROUNDS; ++round) {
    const tessera_address both[] = {before, block};
    move(both, 2);
    void* parameters[] = {&table, &blocks, &count, &one};
    CUresult result = launch_threads(module, "add_to_all", COUNT, stream, parameters);
    if (result == CUDA_SUCCESS) result = cuStreamSynchronize(stream);
    if (result == CUDA_ERROR_ILLEGAL_ADDRESS) {
      puts("told");
      return 0;
    }
    CHECK(result);
    if (!block_holds(block, COUNT, 0, round + 1)) {
      puts("a write was lost, and nothing was told");
      return 1;
    }
  }
  puts("ok");
  return 0;
}
