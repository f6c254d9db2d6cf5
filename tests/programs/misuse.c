/* Invalid uses, and CUDA's result for each: one line per attempt, "what: CUresult".
 *
 * The results are compared between a driver alone and the same driver under Tessera: they must not differ. Exits with 0
 * if every attempt was made.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static void say(const char* attempt, CUresult result) {
  const char* name = "?";
  cuGetErrorName(result, &name);
  printf("%s: %s\n", attempt, name);
}

static void must(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  say("setup", result);
  exit(1);
}

static void before_init(void) {
  CUdeviceptr address;
  int count;
  say("device count before cuInit", cuDeviceGetCount(&count));
  say("allocate before cuInit", cuMemAlloc(&address, 4096));
  say("cuInit with flags", cuInit(1));
}

static void without_context(void) {
  CUdeviceptr address;
  CUdevice device;
  say("allocate without a context", cuMemAlloc(&address, 4096));
  say("device 99", cuDeviceGet(&device, 99));
  say("set a foreign context", cuCtxSetCurrent((CUcontext)0x1234));
}

static void allocations(void) {
  CUdeviceptr address, base;
  size_t bytes;
  char host[64] = {0};
  say("allocate 0 bytes", cuMemAlloc(&address, 0));
  say("allocate into null", cuMemAlloc(NULL, 4096));
  say("allocate 1 TiB", cuMemAlloc(&address, (size_t)1 << 40));
  say("free null", cuMemFree(0));
  say("free a foreign pointer", cuMemFree(0x123456000));
  must(cuMemAlloc(&address, 4 << 20));
  say("free an interior pointer", cuMemFree(address + 512));
  say("copy beyond the end", cuMemcpyHtoD(address + (4 << 20) - 32, host, 64));
  say("copy up to the end", cuMemcpyHtoD(address + (4 << 20) - 64, host, 64));
  say("copy 0 bytes", cuMemcpyHtoD(address, host, 0));
  say("set beyond the end", cuMemsetD8(address, 1, (4 << 20) + 1));
  say("set words off their boundary", cuMemsetD32(address + 2, 1, 4));
  say("range of an interior pointer", cuMemGetAddressRange(&base, &bytes, address + 4096));
  say("free", cuMemFree(address));
  say("free twice", cuMemFree(address));
  say("copy in after free", cuMemcpyHtoD(address, host, 64));
  say("copy out after free", cuMemcpyDtoH(host, address, 64));
  say("set after free", cuMemsetD8(address, 1, 64));
  say("range after free", cuMemGetAddressRange(&base, &bytes, address));
}

static void foreign_pointers(void) {
  CUdeviceptr base;
  size_t bytes;
  char host[64] = {0};
  unsigned kind = 0;
  say("copy in to a foreign pointer", cuMemcpyHtoD(0x123456000, host, 64));
  say("copy out of a foreign pointer", cuMemcpyDtoH(host, 0x123456000, 64));
  say("copy in to null", cuMemcpyHtoD(0, host, 64));
  say("set a foreign pointer", cuMemsetD32(0x123456000, 1, 16));
  say("range of a foreign pointer", cuMemGetAddressRange(&base, &bytes, 0x123456000));
  say("attribute of a foreign pointer", cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0x123456000));
}

static void handles(void) {
  CUstream stream;
  CUevent event;
  CUmodule module;
  CUdeviceptr address;
  static const char no_image[64] = "this is no kernel object";
  void* no_parameters[1] = {NULL};
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  must(cuEventCreate(&event, CU_EVENT_DEFAULT));
  must(cuMemAlloc(&address, 4096));
  say("destroy a stream", cuStreamDestroy(stream)); /* it must not be used any more: a driver crashes */
  say("destroy an event", cuEventDestroy(event));
  say("record a destroyed event", cuEventRecord(event, NULL));
  say("wait for a destroyed event", cuStreamWaitEvent(NULL, event, 0));
  say("load no kernel object", cuModuleLoadData(&module, no_image));
  say("launch a null function", cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, no_parameters, NULL));
  must(cuMemFree(address));
}

int main(void) {
  CUdevice device;
  CUcontext context;
  before_init();
  must(cuInit(0));
  without_context();
  must(cuDeviceGet(&device, 0));
  must(cuDevicePrimaryCtxRetain(&context, device));
  must(cuCtxSetCurrent(context));
  allocations();
  foreign_pointers();
  handles();
  must(cuDevicePrimaryCtxRelease(device));
  return 0;
}
