/* Random calls of pinned host memory, right and wrong ones, in an order that no framework makes.
 *
 *   host_random SEED CALLS
 *
 * One line for each call: what it was, its result, and what it answered. What is allocated or registered has contents,
 * which go to a device and back. With and without Tessera the lines are the same.
 *
 * Thread safety: one thread.
 */
#define _DEFAULT_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "random_calls.h"

enum { BLOCKS = 12, PAGE = 4096, PAGES = 64, MOST = 3 << 20 };

struct block {
  unsigned char* at; /* NULL: none */
  size_t bytes;
  unsigned flags;
  int registered;
  unsigned char content;
};

static CUdevice device;
static CUcontext context;
static CUdeviceptr staging;
static struct block blocks[BLOCKS];
static unsigned char* own; /* ordinary memory, of which parts are registered */

static struct block* any_block(void) {
  const int first = (int)draw(BLOCKS);
  for (int i = 0; i < BLOCKS; ++i) {
    if (blocks[(first + i) % BLOCKS].at != NULL) return &blocks[(first + i) % BLOCKS];
  }
  return NULL;
}

static void allocate_one(void) {
  static const unsigned kinds[] = {
      0, 0, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_WRITECOMBINED, 0x100};
  struct block* const made = &blocks[draw(BLOCKS)];
  void* at = NULL;
  if (made->at != NULL) return;
  made->bytes = draw(3) == 0 ? 1 + draw(5000) : 1 + draw(MOST);
  made->flags = kinds[draw(6)];
  made->registered = 0;
  made->content = 0;
  const int plain = draw(3) == 0;
  if (plain) made->flags = 0;
  const CUresult result = plain ? cuMemAllocHost(&at, made->bytes) : cuMemHostAlloc(&at, made->bytes, made->flags);
  printf("allocate %zu, flags %u", made->bytes, made->flags);
  say(result);
  if (result != CUDA_SUCCESS) return;
  made->at = at;
  memset(made->at, 0, made->bytes);
}

static void register_one(void) {
  struct block* const made = &blocks[draw(BLOCKS)];
  if (made->at != NULL) return;
  const size_t first = draw(PAGES), count = 1 + draw(PAGES - (unsigned)first);
  const unsigned flags = draw(2) * CU_MEMHOSTREGISTER_PORTABLE;
  const CUresult result = cuMemHostRegister(own + first * PAGE, count * PAGE, flags);
  printf("register %zu pages at %zu, flags %u", count, first, flags);
  say(result);
  if (result != CUDA_SUCCESS) return;
  *made = (struct block){own + first * PAGE, count * PAGE, flags, 1, 0};
  memset(made->at, 0, made->bytes);
}

static void end_one(void) {
  struct block* const one = any_block();
  if (one == NULL) return;
  const size_t aside = draw(6) == 0 && one->bytes > 512 ? 512 : 0;
  const int wrong = draw(10) == 0; /* the other call */
  const CUresult result =
      one->registered != wrong ? cuMemHostUnregister(one->at + aside) : cuMemFreeHost(one->at + aside);
  printf("%s%s, aside %zu", one->registered ? "unregister" : "free", wrong ? " by the wrong call" : "", aside);
  say(result);
  if (result == CUDA_SUCCESS) one->at = NULL;
}

static void ask_one(void) {
  struct block* const one = any_block();
  if (one == NULL) return;
  unsigned char* const at = one->at + draw((unsigned)one->bytes);
  unsigned flags = 0, type = 0;
  CUdeviceptr seen = 0, start = 0, base = 0;
  size_t bytes = 0, size = 0;
  void* back = NULL;
  CUcontext its = NULL;
  int ordinal = -1;
  const CUresult told = cuMemHostGetFlags(&flags, at);
  printf("flags %u", flags);
  say(told);
  const CUresult pointer = cuMemHostGetDevicePointer(&seen, at, draw(8) == 0);
  printf("  device pointer %d", seen == (CUdeviceptr)(uintptr_t)at);
  say(pointer);
  const CUresult range = cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)(uintptr_t)at);
  printf("  range %d %zu", base == (CUdeviceptr)(uintptr_t)one->at, bytes);
  say(range);
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE,  CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                 CU_POINTER_ATTRIBUTE_CONTEXT,     CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* into[] = {&type, &start, &size, &back, &its, &ordinal};
  CHECK(cuPointerGetAttributes(6, asked, into, (CUdeviceptr)(uintptr_t)at));
  printf("  type %u, start %d, size %zu, host %d, context %d, ordinal %d\n", type,
         start == (CUdeviceptr)(uintptr_t)one->at, size, back == at, its == context, ordinal);
}

static void copy_one(void) {
  struct block* const one = any_block();
  if (one == NULL) return;
  CHECK(cuMemcpyHtoDAsync(staging, one->at, one->bytes, NULL));
  if (draw(2) == 0) { /* a change behind the copy's back, once it is over */
    CHECK(cuStreamSynchronize(NULL));
    const unsigned char before = one->content;
    one->content = (unsigned char)draw(256);
    memset(one->at, one->content, one->bytes);
    unsigned char told = 0;
    CHECK(cuMemcpyDtoH(&told, staging + one->bytes - 1, 1));
    printf("copied: %s\n", told == before ? "right" : "wrong");
    return;
  }
  CHECK(cuMemsetD8Async(staging, (unsigned char)(one->content + 1), one->bytes, NULL));
  CHECK(cuMemcpyDtoHAsync(one->at, staging, one->bytes, NULL));
  CHECK(cuStreamSynchronize(NULL));
  ++one->content;
  size_t right = 0;
  while (right < one->bytes && one->at[right] == one->content) ++right;
  printf("set: %s\n", right == one->bytes ? "right" : "wrong");
}

int main(int argc, char** argv) {
  static void (*const calls[])(void) = {allocate_one, allocate_one, allocate_one, register_one, register_one, end_one,
                                        end_one,      ask_one,      ask_one,      copy_one,     copy_one,     copy_one};
  if (argc != 3) return 2;
  state = strtoull(argv[1], NULL, 10) * 2654435761u + 1;
  device = open_device(&context);
  CHECK(cuMemAlloc(&staging, MOST));
  own = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int left = atoi(argv[2]); left-- > 0;) calls[draw(sizeof(calls) / sizeof(calls[0]))]();
  CHECK(cuCtxSynchronize());
  puts("ok");
  return 0;
}
