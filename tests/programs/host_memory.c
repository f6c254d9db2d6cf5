/* Pinned host memory of a program: what every call about it answers, and that its bytes are safe.
 *
 *   host_memory answers          prints the answers to every query, which do not depend on addresses
 *   host_memory queued           frees memory that queued copies read, and allocates again, also during a capture
 *   host_memory fork             a child reads and writes what its parent allocated
 *   host_memory contexts         contexts end and begin, with memory allocated in them
 *   host_memory devices          two devices copy from and to the same memory
 *   host_memory holds            ends while it holds memory of every kind
 *   host_memory refused CALL     CALL (alloc, allochost, register) needs what the heap has pinned
 *   host_memory managed          allocates more managed memory than the device has
 *
 * All but the first print "ok" if all is right.
 *
 * Thread safety: one thread.
 */
#define _DEFAULT_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define MIB ((size_t)1 << 20)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static CUcontext context;
static CUdevice device;

static const char* name_of(CUresult result) {
  const char* name = "unknown";
  cuGetErrorName(result, &name);
  return name;
}

static CUdeviceptr as_device(const void* host) { return (CUdeviceptr)(uintptr_t)host; }

static void print_attributes(unsigned char* host, size_t offset) {
  const CUdeviceptr at = as_device(host) + offset;
  unsigned type = 0, flags = 0;
  CUcontext its = NULL;
  CUdeviceptr start = 0, seen = 0, base = 0;
  void* back = NULL;
  size_t size = 0, bytes = 0;
  int ordinal = -1, access = 0;
  int managed = -1, mapped = -1, shareable = -1;
  CUmemoryPool pool = NULL;
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
  CHECK(cuPointerGetAttribute(&its, CU_POINTER_ATTRIBUTE_CONTEXT, at));
  CHECK(cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at));
  CHECK(cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_HOST_POINTER, at));
  CHECK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at));
  CHECK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at));
  CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
  CHECK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at));
  CHECK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, at));
  CHECK(cuPointerGetAttribute(&shareable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
  CHECK(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at));
  CHECK(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
  printf(
      "  type %u, context %d, device %d, host %d, start %d, size %zu, ordinal %d, managed %d, mapped %d, "
      "shareable %d, access %d, pool %d\n",
      type, its == context, seen == at, back == host + offset, start == as_device(host), size, ordinal, managed, mapped,
      shareable, access, pool != NULL);
  CHECK(cuMemGetAddressRange(&base, &bytes, at));
  CHECK(cuMemHostGetDevicePointer(&seen, host + offset, 0));
  CHECK(cuMemHostGetFlags(&flags, host + offset));
  printf("  range %d %zu, device pointer %d, flags %u\n", base == as_device(host), bytes, seen == at, flags);
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                 CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
  CUdeviceptr mapping = 0;
  size_t mapping_size = 0;
  void* into[] = {&type, &start, &size, &mapping, &mapping_size};
  CHECK(cuPointerGetAttributes(COUNT(asked), asked, into, at));
  printf("  together: type %u, start %d, size %zu, mapping %d %zu\n", type, start == as_device(host), size,
         mapping == as_device(host), mapping_size);
}

static uint64_t buffer_id(const void* host) {
  uint64_t id = 0;
  CHECK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, as_device(host)));
  return id;
}

static int is_synchronous(const void* host) {
  int synchronous = -1;
  CHECK(cuPointerGetAttribute(&synchronous, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, as_device(host)));
  return synchronous;
}

static void print_gone(unsigned char* host) {
  unsigned type = 7, flags = 0;
  CUdeviceptr seen = 0;
  size_t bytes = 0;
  printf("gone: attribute %s",
         name_of(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, as_device(host))));
  printf(", device pointer %s", name_of(cuMemHostGetDevicePointer(&seen, host, 0)));
  printf(", flags %s", name_of(cuMemHostGetFlags(&flags, host)));
  printf(", range %s", name_of(cuMemGetAddressRange(&seen, &bytes, as_device(host))));
  printf(", free %s\n", name_of(cuMemFreeHost(host)));
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* into[] = {&type, &bytes};
  CHECK(cuPointerGetAttributes(2, asked, into, as_device(host)));
  printf("  together: type %u, size %zu\n", type, bytes);
}

static int print_answers(void) {
  static const struct {
    size_t bytes;
    unsigned flags;
  } kinds[] = {{4096, 0},
               {100, CU_MEMHOSTALLOC_PORTABLE},
               {20000, CU_MEMHOSTALLOC_DEVICEMAP},
               {3 * MIB + 5, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP},
               {MIB, CU_MEMHOSTALLOC_WRITECOMBINED}};
  unsigned char* held[COUNT(kinds) + 1];
  unsigned on = 1;
  void* none = NULL;
  for (size_t i = 0; i < COUNT(kinds); ++i) {
    CHECK(cuMemHostAlloc((void**)&held[i], kinds[i].bytes, kinds[i].flags));
    memset(held[i], 1, kinds[i].bytes);
    printf("%zu bytes, flags %u:\n", kinds[i].bytes, kinds[i].flags);
    print_attributes(held[i], 0);
    print_attributes(held[i], kinds[i].bytes - 1);
  }
  CHECK(cuMemAllocHost((void**)&held[COUNT(kinds)], 2 * MIB));
  printf("cuMemAllocHost:\n");
  print_attributes(held[COUNT(kinds)], 77);
  printf("ids differ: %d\n", buffer_id(held[0]) != buffer_id(held[1]) && buffer_id(held[1]) != buffer_id(held[2]));
  CHECK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, as_device(held[0])));
  printf("synchronous: %d %d\n", is_synchronous(held[0]), is_synchronous(held[2]));
  printf("not ours: %s, %s\n", name_of(cuMemHostUnregister(held[0])), name_of(cuMemFreeHost(held[3] + 4096)));
  printf("registered twice: %s\n", name_of(cuMemHostRegister(held[0], 4096, 0)));
  printf("nothing: %s, %s, %s\n", name_of(cuMemHostAlloc(&none, 0, 0)), name_of(cuMemHostAlloc(NULL, 1, 0)),
         name_of(cuMemHostAlloc(&none, 1, 0x80)));
  printf("null: %s, %s\n", name_of(cuMemFreeHost(NULL)), name_of(cuMemHostGetFlags(NULL, held[0])));
  for (size_t i = 0; i <= COUNT(kinds); ++i) CHECK(cuMemFreeHost(held[i]));
  print_gone(held[0]);
  return 0;
}

/* Copies that take a while (TESSERA_SOFTWARE_BANDWIDTH) read memory that is freed and allocated again. */
static int queued_copies_keep_their_bytes(void) {
  enum { ROUNDS = 4 };
  const size_t bytes = 4 * MIB;
  CUdeviceptr block;
  CUstream stream, captured;
  CUgraph graph;
  CHECK(cuMemAlloc(&block, bytes));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
  for (int round = 0; round < ROUNDS; ++round) {
    const int capturing = round >= 2;
    unsigned char *from = NULL, *next = NULL;
    CHECK(cuMemHostAlloc((void**)&from, bytes, 0));
    for (size_t i = 0; i < bytes / sizeof(int); ++i) ((int*)from)[i] = round + 1;
    CHECK(cuMemcpyHtoDAsync(block, from, bytes, stream));
    if (capturing) CHECK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CHECK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(cuMemFreeHost(from));
    CHECK(cuMemHostAlloc((void**)&next, bytes, 0));
    memset(next, 0xff, bytes);
    CHECK(cuThreadExchangeStreamCaptureMode(&mode));
    if (capturing) {
      CHECK(cuStreamEndCapture(captured, &graph));
      CHECK(cuGraphDestroy(graph));
      unsigned char* after = NULL;
      CHECK(cuMemHostAlloc((void**)&after, bytes, 0));
      memset(after, 0xff, bytes);
      CHECK(cuMemFreeHost(after));
    }
    CHECK(cuStreamSynchronize(stream));
    if (!block_holds(block, (int)(bytes / sizeof(int)), 0, round + 1)) return 1;
    CHECK(cuMemFreeHost(next));
  }
  return 0;
}

static int a_child_shares_it(void) {
  int* numbers = NULL;
  int status = 0;
  CHECK(cuMemAllocHost((void**)&numbers, MIB));
  numbers[0] = 7;
  numbers[1] = 0;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    numbers[1] = 8;
    _exit(numbers[0] == 7 && cuMemFreeHost(numbers) != CUDA_SUCCESS ? 0 : 1);
  }
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
  if (numbers[1] != 8) return 1;
  CHECK(cuMemFreeHost(numbers));
  return 0;
}

static void write_and_copy(void) {
  CUdeviceptr block;
  void* host = NULL;
  CHECK(cuMemAlloc(&block, MIB));
  CHECK(cuMemHostAlloc(&host, MIB, 0));
  memset(host, 3, MIB);
  CHECK(cuMemcpyHtoD(block, host, MIB));
  CHECK(cuMemFree(block));
}

/* What a context has allocated ends with it. */
static int contexts_end(void) {
  CUcontext helper;
  void* host = NULL;
  unsigned type = 0;
  for (int round = 0; round < 3; ++round) {
    write_and_copy();
    CHECK(cuMemHostAlloc(&host, 3 * MIB, 0));
    CHECK(cuCtxCreate(&helper, NULL, 0, device));
    void* other = NULL;
    CHECK(cuMemHostAlloc(&other, 2 * MIB, 0));
    memset(other, 1, 2 * MIB);
    CHECK(cuCtxDestroy(helper));
    CHECK(cuCtxSetCurrent(context));
    if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, as_device(other)) == CUDA_SUCCESS) return 1;
    memset(host, 1, 3 * MIB);
    CHECK(cuDevicePrimaryCtxRelease(device));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, as_device(host)) == CUDA_SUCCESS) return 1;
    if (cuMemFreeHost(host) == CUDA_SUCCESS) return 1;
  }
  return 0;
}

static int two_devices_copy(void) {
  CUcontext second;
  CUdevice other;
  CUdeviceptr block, far;
  CUstream stream;
  int* host = NULL;
  const int count = (int)(4 * MIB / sizeof(int));
  CHECK(cuMemAlloc(&block, 4 * MIB));
  CHECK(cuMemHostAlloc((void**)&host, 4 * MIB, CU_MEMHOSTALLOC_PORTABLE));
  for (int i = 0; i < count; ++i) host[i] = 5;
  CHECK(cuDeviceGet(&other, 1));
  CHECK(cuDevicePrimaryCtxRetain(&second, other));
  CHECK(cuCtxSetCurrent(second));
  CHECK(cuMemAlloc(&far, 4 * MIB));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemcpyHtoDAsync(far, host, 4 * MIB, stream));
  void* own = NULL;
  CHECK(cuMemHostAlloc(&own, MIB, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuMemFreeHost(host)); /* after the other device's copy */
  CHECK(cuMemHostAlloc((void**)&host, 4 * MIB, 0));
  memset(host, 0xff, 4 * MIB);
  CHECK(cuCtxSetCurrent(second));
  if (!block_holds(far, count, 1, 5)) return 1;
  CHECK(cuMemFreeHost(own));
  CHECK(cuMemFree(far));
  CHECK(cuDevicePrimaryCtxRelease(other));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuMemFreeHost(host));
  CHECK(cuMemFree(block));
  return 0;
}

static int holds(void) {
  CUdeviceptr block;
  void *host = NULL, *combined = NULL;
  void* const own = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(cuMemAllocManaged(&block, 5 * MIB, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemAllocManaged(&block, 3 * MIB, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemFree(block));
  CHECK(cuMemHostAlloc(&host, 3 * MIB, 0));
  CHECK(cuMemHostAlloc(&combined, 2 * MIB, CU_MEMHOSTALLOC_WRITECOMBINED));
  CHECK(cuMemHostRegister(own, MIB, 0));
  CHECK(cuMemAlloc(&block, MIB));
  return 0;
}

/* The heap pins host memory for blocks that do not fit; then the blocks are freed, and the program needs it. */
static int gets_what_the_heap_has_pinned(const char* call) {
  enum { BLOCKS = 16 };
  const size_t each = 8 * MIB, bytes = 96 * MIB;
  CUdeviceptr blocks[BLOCKS];
  void* host = NULL;
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&blocks[i], each));
    CHECK(cuMemsetD32(blocks[i], (unsigned)i, each / 4));
  }
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(blocks[i], (int)(each / 4), i, i)) return 1;
  }
  for (int i = 1; i < BLOCKS; ++i) CHECK(cuMemFree(blocks[i]));
  if (strcmp(call, "alloc") == 0) {
    CHECK(cuMemHostAlloc(&host, bytes, 0));
  } else if (strcmp(call, "allochost") == 0) {
    CHECK(cuMemAllocHost(&host, bytes));
  } else {
    host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(cuMemHostRegister(host, bytes, 0));
  }
  memset(host, 1, bytes);
  CHECK(cuMemcpyHtoD(blocks[0], host, each));
  if (!block_holds(blocks[0], (int)(each / 4), 0, 0x01010101)) return 1;
  if (strcmp(call, "register") == 0) {
    CHECK(cuMemHostUnregister(host));
  } else {
    CHECK(cuMemFreeHost(host));
  }
  CHECK(cuMemFree(blocks[0]));
  return 0;
}

static int takes_managed_memory(void) {
  CUdeviceptr block;
  size_t free = 0, total = 0;
  CHECK(cuMemGetInfo(&free, &total));
  for (size_t taken = 0; taken <= total; taken += total / 2) {
    CHECK(cuMemAllocManaged(&block, total / 2, CU_MEM_ATTACH_GLOBAL));
  }
  return 0;
}

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  int failed = 1;
  device = open_device(&context);
  if (strcmp(what, "answers") == 0) return print_answers();
  if (strcmp(what, "queued") == 0) failed = queued_copies_keep_their_bytes();
  if (strcmp(what, "fork") == 0) failed = a_child_shares_it();
  if (strcmp(what, "contexts") == 0) failed = contexts_end();
  if (strcmp(what, "devices") == 0) failed = two_devices_copy();
  if (strcmp(what, "holds") == 0) failed = holds();
  if (strcmp(what, "refused") == 0 && count > 2) failed = gets_what_the_heap_has_pinned(words[2]);
  if (strcmp(what, "managed") == 0) failed = takes_managed_memory();
  if (!failed) puts("ok");
  return failed;
}
