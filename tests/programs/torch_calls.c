/* Calls libtessera_torch.so as PyTorch does: threads, each with two streams on a device of its choice, and blocks that
 * a second stream uses too and that are freed while work on both is queued.
 *
 * Usage: torch_calls LIBRARY KERNELS. Prints "ok", or the first failure.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "check.h"

#define THREADS 4
#define ROUNDS 40
#define COUNT (1 << 19)

typedef void* (*malloc_hook)(ssize_t, int, CUstream);
typedef void (*free_hook)(void*, ssize_t, int, CUstream);
typedef void (*record_hook)(void*, CUstream);
typedef void (*reset_hook)(void);

static malloc_hook hook_malloc;
static free_hook hook_free;
static record_hook hook_record_stream;
static reset_hook hook_reset;
static CUcontext contexts[2];
static CUfunction adders[2];
static int devices = 0;

static void* hook(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found != NULL) return found;
  fprintf(stderr, "no %s\n", name);
  exit(1);
}

static void add(CUdeviceptr to, int value, int device, CUstream stream) {
  int count = COUNT;
  void* parameters[] = {&to, &value, &count};
  CHECK(cuLaunchKernel(adders[device], COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

/* Written on `one`, read and written on `two`, freed while both are working. */
static void borrow(int round, int device, CUstream one, CUstream two, CUevent ready, int* host) {
  const ssize_t bytes = COUNT * (ssize_t)sizeof(int);
  void* const block = hook_malloc(bytes, device, one);
  const CUdeviceptr address = (CUdeviceptr)block;
  CHECK(cuMemsetD32Async(address, (unsigned)round, COUNT, one));
  CHECK(cuEventRecord(ready, one));
  CHECK(cuStreamWaitEvent(two, ready, 0));
  hook_record_stream(block, two);
  add(address, 1000, device, two);
  CHECK(cuMemcpyDtoHAsync(host, address, (size_t)bytes, two));
  hook_free(block, bytes, device, one);
}

static void* work(void* number) {
  const int thread = (int)(size_t)number, device = thread % devices;
  int* host = NULL;
  CUstream one, two;
  CUevent ready;
  CHECK(cuCtxSetCurrent(contexts[device]));
  CHECK(cuMemAllocHost((void**)&host, 2 * COUNT * sizeof(int)));
  CHECK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING));
  for (int round = 0; round < ROUNDS; round += 2) {
    borrow(round, device, one, two, ready, host);
    borrow(round + 1, device, one, two, ready, host + COUNT);
    if (round % 16 == 8) hook_reset();
    CHECK(cuStreamSynchronize(two));
    for (int n = 0; n < 2 * COUNT; ++n) {
      const int expected = 1000 + round + n / COUNT;
      if (host[n] == expected) continue;
      fprintf(stderr, "round %d: number %d is %d, not %d\n", round, n, host[n], expected);
      exit(1);
    }
  }
  /* The streams stay, as PyTorch's do. */
  CHECK(cuEventDestroy(ready));
  CHECK(cuMemFreeHost(host));
  return NULL;
}

/* More than the device holds: works if launches are seen, under the preload library. */
static void overfill(size_t blocks) {
  const size_t bytes = 4 << 20;
  void** const block = calloc(blocks, sizeof(*block));
  int number = 0;
  for (size_t i = 0; i < blocks; ++i) {
    block[i] = hook_malloc((ssize_t)bytes, 0, NULL);
    CHECK(cuMemsetD32((CUdeviceptr)block[i], (unsigned)i, bytes / sizeof(int)));
  }
  for (size_t i = 0; i < blocks; ++i) {
    add((CUdeviceptr)block[i], 7, 0, NULL);
    CHECK(cuMemcpyDtoH(&number, (CUdeviceptr)block[i] + 4096, sizeof(number)));
    if (number != (int)i + 7) {
      fprintf(stderr, "block %zu holds %d\n", i, number);
      exit(1);
    }
  }
  for (size_t i = 0; i < blocks; ++i) hook_free(block[i], (ssize_t)bytes, 0, NULL);
  free(block);
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: torch_calls LIBRARY KERNELS [BLOCKS OF 4 MiB]\n");
    return 2;
  }
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  hook_malloc = (malloc_hook)hook(library, "tessera_torch_malloc");
  hook_free = (free_hook)hook(library, "tessera_torch_free");
  hook_record_stream = (record_hook)hook(library, "tessera_torch_record_stream");
  hook_reset = (reset_hook)hook(library, "tessera_torch_reset");
  CHECK(cuInit(0));
  CHECK(cuDeviceGetCount(&devices));
  if (devices > 2) devices = 2;
  for (int i = 0; i < devices; ++i) {
    CUmodule module;
    CHECK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    CHECK(cuCtxSetCurrent(contexts[i]));
    CHECK(cuModuleLoad(&module, argv[2]));
    CHECK(cuModuleGetFunction(&adders[i], module, "add_to"));
  }
  CHECK(cuCtxSetCurrent(contexts[0]));
  hook_free(NULL, 0, 0, NULL);
  if (hook_malloc(0, 0, NULL) != NULL) return 1;
  for (size_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  if (argc == 4) overfill((size_t)atoi(argv[3]));
  puts("ok");
  return 0;
}
