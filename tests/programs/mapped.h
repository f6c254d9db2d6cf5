/* Memory that a program maps itself: the calls in the order in which frameworks make them.
 *
 * Thread safety: one thread; each program includes this once.
 */
#ifndef TESSERA_PROGRAMS_MAPPED_H
#define TESSERA_PROGRAMS_MAPPED_H

#include <cuda.h>
#include <string.h>

#include "check.h"

#define PAGE ((size_t)2 << 20)

struct mapping {
  CUdeviceptr at; /* stays while nothing is mapped there */
  size_t bytes;
  CUmemGenericAllocationHandle handle;
};

static CUdevice device;
static CUmodule module;
static CUmemAllocationHandleType shared_as; /* that new handles request */

static inline CUmemAllocationProp properties_here(void) {
  CUmemAllocationProp properties;
  memset(&properties, 0, sizeof(properties));
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = shared_as;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

static inline CUresult create(CUmemGenericAllocationHandle* handle, size_t bytes) {
  const CUmemAllocationProp properties = properties_here();
  return cuMemCreate(handle, bytes, &properties, 0);
}

static inline CUdeviceptr reserve(size_t bytes) {
  CUdeviceptr at;
  CHECK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
  return at;
}

static inline CUresult give_access(CUdeviceptr at, size_t bytes) {
  CUmemAccessDesc access;
  memset(&access, 0, sizeof(access));
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return cuMemSetAccess(at, bytes, &access, 1);
}

static inline void map(struct mapping* to) {
  CHECK(cuMemMap(to->at, to->bytes, 0, to->handle, 0));
  CHECK(give_access(to->at, to->bytes));
}

static inline void unmap(struct mapping* of) {
  CHECK(cuMemUnmap(of->at, of->bytes));
  CHECK(cuMemRelease(of->handle));
  of->handle = 0;
}

/* ---- use ---------------------------------------------------------------------------------------
 */

static inline void fill(CUdeviceptr at, size_t bytes, int value) {
  CHECK(cuMemsetD32(at, (unsigned)value, bytes / sizeof(int)));
}

static inline void add_one(CUdeviceptr at, size_t bytes) {
  CUfunction function;
  int count = (int)(bytes / sizeof(int));
  void* parameters[] = {&at, &count};
  CHECK(cuModuleGetFunction(&function, module, "add_one"));
  CHECK(cuLaunchKernel(function, ((unsigned)count + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
}

static inline int holds(CUdeviceptr at, size_t bytes, int block, int value) {
  return block_holds(at, (int)(bytes / sizeof(int)), block, value);
}

static inline void start(const char* kernels) {
  CUcontext context;
  device = open_device(&context);
  CHECK(cuModuleLoad(&module, kernels));
}

static inline int end(int right) {
  CHECK(cuCtxSynchronize());
  puts(right ? "ok" : "wrong");
  return !right;
}

#endif
