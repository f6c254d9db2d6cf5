/* Uses more memory than the device has, through functions of a driver that it opens itself, late and with local scope.
 *
 * Usage: opened_driver LIBRARY dlsym|address. Prints "ok" if every block has the contents that it was set to.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 12
#define COUNT (1 << 20)

typedef CUresult (*get_address)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

static void* library;
static get_address get;

static void* find(const char* name, const char* symbol, int version) {
  void* found = NULL;
  if (get == NULL)
    found = dlsym(library, symbol);
  else if (get(name, &found, version, 0, NULL) != CUDA_SUCCESS)
    found = NULL;
  if (found == NULL) {
    fprintf(stderr, "%s is missing\n", name);
    exit(2);
  }
  return found;
}

static void must(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  printf("%s: %d\n", call, (int)result);
  exit(1);
}

int main(int argc, char** argv) {
  static unsigned host[COUNT];
  CUcontext context;
  CUdeviceptr block[BLOCKS];
  if (argc != 3 || (library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) == NULL) return 2;
  if (strcmp(argv[2], "address") == 0) get = (get_address)dlsym(library, "cuGetProcAddress_v2");
  CUresult (*const init)(unsigned) = (CUresult(*)(unsigned))find("cuInit", "cuInit", 2000);
  CUresult (*const retain)(CUcontext*, CUdevice) =
      (CUresult(*)(CUcontext*, CUdevice))find("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000);
  CUresult (*const use)(CUcontext) = (CUresult(*)(CUcontext))find("cuCtxSetCurrent", "cuCtxSetCurrent", 4000);
  CUresult (*const allocate)(CUdeviceptr*, size_t) =
      (CUresult(*)(CUdeviceptr*, size_t))find("cuMemAlloc", "cuMemAlloc_v2", 3020);
  CUresult (*const set)(CUdeviceptr, unsigned, size_t) =
      (CUresult(*)(CUdeviceptr, unsigned, size_t))find("cuMemsetD32", "cuMemsetD32_v2", 3020);
  CUresult (*const copy)(void*, CUdeviceptr, size_t) =
      (CUresult(*)(void*, CUdeviceptr, size_t))find("cuMemcpyDtoH", "cuMemcpyDtoH_v2", 3020);
  must(init(0), "cuInit");
  must(retain(&context, 0), "cuDevicePrimaryCtxRetain");
  must(use(context), "cuCtxSetCurrent");
  for (unsigned i = 0; i < BLOCKS; ++i) {
    must(allocate(&block[i], sizeof(host)), "cuMemAlloc");
    must(set(block[i], i + 1, COUNT), "cuMemsetD32");
  }
  for (unsigned i = 0; i < BLOCKS; ++i) {
    must(copy(host, block[i], sizeof(host)), "cuMemcpyDtoH");
    for (int n = 0; n < COUNT; ++n) {
      if (host[n] != i + 1) {
        printf("block %u, number %d: %u\n", i, n, host[n]);
        return 1;
      }
    }
  }
  puts("ok");
  return 0;
}
