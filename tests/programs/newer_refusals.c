/* Calls newer than CUDA 13.0 that retain or share a block, each with its own block.
 *
 * All blocks are written first, and the first of them has been evicted from a small device when it is used. Prints the
 * result of each call, "call: CUresult". Exits with 0 if every call was made.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "newer_cuda.h"

#define BYTES ((size_t)2 << 20)
#define BLOCKS 6

static CUdeviceptr block[BLOCKS];

static void say(const char* call, CUresult result) {
  const char* name = "?";
  cuGetErrorName(result, &name);
  printf("%s: %s\n", call, name);
}

static void* newer(const char* name, int version) {
  void* found = NULL;
  CHECK(cuGetProcAddress(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL));
  if (found == NULL) exit(2);
  return found;
}

/* Adds to a word of memory in stream order. */
static void a_reduction(CUstream stream) {
  TesseraAtomicReduction reduction;
  CUstreamBatchMemOpParams operation;
  memset(&operation, 0, sizeof(operation));
  memset(&reduction, 0, sizeof(reduction));
  reduction.operation = TESSERA_MEM_OP_ATOMIC_REDUCTION;
  reduction.address = block[0];
  reduction.value = 1;
  memcpy(&operation, &reduction, sizeof(reduction));
  say("cuStreamBatchMemOp", cuStreamBatchMemOp(stream, 1, &operation, 0));
}

static void shares(CUdevice device) {
  const PFN_cuMulticastBindAddr_v13010 multicast = (PFN_cuMulticastBindAddr_v13010)newer("cuMulticastBindAddr", 13010);
  const PFN_cuLogicalEndpointBindAddr_v13030 endpoint =
      (PFN_cuLogicalEndpointBindAddr_v13030)newer("cuLogicalEndpointBindAddr", 13030);
  say("cuMulticastBindAddr", multicast(0, device, 0, block[1], BYTES, 0));
  say("cuLogicalEndpointBindAddr", endpoint(0, device, 0, (void*)block[2], BYTES, 0));
}

static void a_graphics_queue(CUstream stream) {
  const PFN_cuStreamBeginCaptureToCig_v13010 begin =
      (PFN_cuStreamBeginCaptureToCig_v13010)newer("cuStreamBeginCaptureToCig", 13010);
  say("cuStreamBeginCaptureToCig", begin(stream, NULL));
}

static void a_question(void) {
  int domain = 0;
  say("cuPointerGetAttribute",
      cuPointerGetAttribute(&domain, (CUpointer_attribute)TESSERA_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL, block[3]));
  printf("locality domain: %d\n", domain);
}

int main(void) {
  CUcontext context;
  CUstream stream;
  const CUdevice device = open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], BYTES));
    CHECK(cuMemsetD8(block[i], (unsigned char)i, BYTES));
  }
  a_reduction(stream);
  shares(device);
  a_graphics_queue(stream);
  a_question();
  CHECK(cuStreamDestroy(stream));
  return 0;
}
