/* A block goes to the host and comes back with no use of it, as by sleep and wake. A kernel that got the address of a
 * table alone writes it, and then the block leaves again.
 *
 * Usage: written_after_wake KERNELS sleep|prefetch
 * The table was made by a kernel so long ago that launches show nothing of the block. Without Tessera nothing moves.
 * Prints "ok" or what was lost.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tessera/interpose.h"
#include "tessera/tessera.h"

#define BYTES (4 << 20)
#define COUNT (BYTES / (int)sizeof(int))
#define OTHERS 6 /* more than fit beside the block */
#define TURNS 3  /* of them, after which whatever is not among them has left */
#define ROUNDS 3
#define FORGOTTEN 40 /* launches after which a table is no longer known to name the block */

static CUmodule module;
static CUstream stream;

static void* function(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found != NULL) return found;
  fprintf(stderr, "no %s\n", name);
  exit(1);
}

static void want(tessera_result result, const char* call) {
  if (result == TESSERA_OK) return;
  fprintf(stderr, "%s: %d\n", call, (int)result);
  exit(1);
}

/* Out and in again. */
static void move(CUdeviceptr block, const char* way) {
  tessera_result (*shared)(tessera_allocator**);
  tessera_result (*evict)(tessera_allocator*, const tessera_address*, size_t);
  tessera_result (*prefetch)(tessera_allocator*, const tessera_address*, size_t);
  tessera_result (*sleep)(tessera_allocator*, const char*, tessera_moved*);
  tessera_result (*wake)(tessera_allocator*, const char*, tessera_moved*);
  tessera_allocator* allocator = NULL;
  tessera_moved moved = {.size = sizeof(moved)};
  const tessera_address address = block;
  if (dlsym(RTLD_DEFAULT, "tessera_shared") == NULL) return;
  *(void**)&shared = function("tessera_shared");
  *(void**)&evict = function("tessera_evict");
  *(void**)&prefetch = function("tessera_prefetch");
  *(void**)&sleep = function("tessera_sleep");
  *(void**)&wake = function("tessera_wake");
  want(shared(&allocator), "tessera_shared");
  if (strcmp(way, "sleep") == 0) {
    want(sleep(allocator, NULL, &moved), "tessera_sleep");
    if (moved.moved_bytes < BYTES) exit(1);
    want(wake(allocator, NULL, &moved), "tessera_wake");
  } else {
    want(evict(allocator, &address, 1), "tessera_evict");
    want(prefetch(allocator, &address, 1), "tessera_prefetch");
    CHECK(cuCtxSynchronize()); /* it is there by then */
  }
}

/* The block leaves meanwhile. */
static void use_others(void) {
  CUdeviceptr others[OTHERS];
  int one = 1, count = COUNT;
  for (int i = 0; i < OTHERS; ++i) others[i] = zeroed(BYTES, stream);
  for (int i = 0; i < TURNS * OTHERS; ++i) {
    void* parameters[] = {&others[i % OTHERS], &one, &count};
    CHECK(launch_threads(module, "add_to", COUNT, stream, parameters));
  }
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < OTHERS; ++i) CHECK(cuMemFree(others[i]));
}

int main(int argc, char** argv) {
  CUcontext context;
  int one = 1, count = COUNT, blocks = 1;
  long long first, step = BYTES;
  if (argc != 3) return 2;
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
  for (int round = 0; round < ROUNDS; ++round) {
    move(block, argv[2]);
    void* parameters[] = {&table, &blocks, &count, &one};
    CHECK(launch_threads(module, "add_to_all", COUNT, stream, parameters));
    CHECK(cuStreamSynchronize(stream));
    use_others();
    if (!block_holds(block, COUNT, 0, round + 1)) {
      puts("a write was lost, and nothing was told");
      return 1;
    }
  }
  puts("ok");
  return 0;
}
