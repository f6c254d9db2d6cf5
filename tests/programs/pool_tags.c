/* Two pools of the program, each with a tag: sleeps and wakes one of them, and leaves blocks of both at the end, so
 * that statistics show them. What Tessera knows is queried through its C API, found in the process as the preload
 * library is.
 *
 * Prints "ok" or what failed.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tessera/interpose.h"

#define BLOCKS 3
#define COUNT (1 << 20)
#define BYTES (COUNT * sizeof(int))

static tessera_result (*shared)(tessera_allocator**);
static tessera_result (*query)(tessera_allocator*, tessera_address, tessera_block_info*);
static tessera_result (*sleep_tag)(tessera_allocator*, const char*, tessera_moved*);
static tessera_result (*wake_tag)(tessera_allocator*, const char*, tessera_moved*);

static void must(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void* symbol(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  must(found != NULL, "not under Tessera");
  return found;
}

static void find_api(void) {
  *(void**)&shared = symbol("tessera_shared");
  *(void**)&query = symbol("tessera_query");
  *(void**)&sleep_tag = symbol("tessera_sleep");
  *(void**)&wake_tag = symbol("tessera_wake");
}

static CUmemoryPool make_pool(CUdevice device) {
  CUmemPoolProps props;
  CUmemoryPool pool;
  memset(&props, 0, sizeof(props));
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  CHECK(cuMemPoolCreate(&pool, &props));
  return pool;
}

/* How many of the blocks have all their bytes on the device; their tags must be `tag`. */
static int present(const CUdeviceptr* block, const char* tag) {
  tessera_allocator* allocator = NULL;
  int count = 0;
  must(shared(&allocator) == TESSERA_OK, "no allocator");
  for (int b = 0; b < BLOCKS; ++b) {
    tessera_block_info info;
    memset(&info, 0, sizeof(info));
    info.size = sizeof(info);
    must(query(allocator, block[b], &info) == TESSERA_OK, "no block");
    must(strcmp(info.tag, tag) == 0, "another tag");
    count += info.device_bytes >= BYTES;
  }
  return count;
}

int main(void) {
  CUcontext context;
  CUstream stream;
  CUdeviceptr first[BLOCKS], second[BLOCKS], usual[BLOCKS], block;
  CUmemoryPool pool[2], third;
  tessera_allocator* allocator = NULL;
  tessera_moved moved;
  const CUdevice device = open_device(&context);
  find_api();
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int p = 0; p < 2; ++p) pool[p] = make_pool(device);
  for (int b = 0; b < BLOCKS; ++b) {
    CHECK(cuMemAllocFromPoolAsync(&first[b], BYTES, pool[0], stream));
    CHECK(cuMemAllocFromPoolAsync(&second[b], BYTES, pool[1], stream));
    CHECK(cuMemAllocAsync(&usual[b], BYTES, stream));
    CHECK(cuMemsetD32Async(first[b], (unsigned)(10 + b), COUNT, stream));
    CHECK(cuMemsetD32Async(second[b], (unsigned)(20 + b), COUNT, stream));
    CHECK(cuMemsetD32Async(usual[b], (unsigned)(30 + b), COUNT, stream));
  }
  CHECK(cuStreamSynchronize(stream));
  must(shared(&allocator) == TESSERA_OK, "no allocator");
  memset(&moved, 0, sizeof(moved));
  moved.size = sizeof(moved);
  must(present(first, "pool 1") == BLOCKS && present(second, "pool 2") == BLOCKS && present(usual, "") == BLOCKS,
       "not all blocks are on the device at first");
  must(sleep_tag(allocator, "pool 1", &moved) == TESSERA_OK && moved.moved_bytes >= BLOCKS * BYTES, "sleep");
  must(present(first, "pool 1") == 0, "blocks that sleep are on the device");
  must(present(second, "pool 2") == BLOCKS && present(usual, "") == BLOCKS, "blocks of other pools have left");
  must(wake_tag(allocator, "pool 1", &moved) == TESSERA_OK, "wake");
  must(present(first, "pool 1") == BLOCKS, "not all blocks are back");
  for (int b = 0; b < BLOCKS; ++b) {
    must(block_holds(first[b], COUNT, b, 10 + b) && block_holds(second[b], COUNT, b, 20 + b) &&
             block_holds(usual[b], COUNT, b, 30 + b),
         "wrong contents");
    CHECK(cuMemFreeAsync(usual[b], stream));
  }
  for (int b = 1; b < BLOCKS; ++b) {
    CHECK(cuMemFreeAsync(first[b], stream));
    CHECK(cuMemFreeAsync(second[b], stream));
  }
  CHECK(cuMemFreeAsync(first[0], stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemPoolDestroy(pool[0]));
  third = make_pool(device); /* takes the tag of the destroyed one */
  CHECK(cuMemAllocFromPoolAsync(&block, 2 * BYTES, third, stream));
  CHECK(cuStreamSynchronize(stream));
  puts("ok");
  return 0;
}
