/* A driver of a future CUDA, for look-ups only: in its version 99.0 cuMemAlloc is a different function, and cuMemFree
 * is unchanged.
 *
 * Thread safety: any thread.
 */
#include <cuda.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

VISIBLE CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  (void)address;
  (void)bytes;
  return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult allocate_since_99(CUdeviceptr* address, size_t bytes, unsigned long long flags) {
  (void)flags;
  return cuMemAlloc(address, bytes);
}

VISIBLE CUresult cuMemFree(CUdeviceptr address) {
  (void)address;
  return CUDA_ERROR_NOT_SUPPORTED;
}

VISIBLE CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult* status) {
  (void)flags;
  *function = NULL;
  if (strcmp(symbol, "cuMemFree") == 0) *function = (void*)cuMemFree;
  if (strcmp(symbol, "cuMemAlloc") == 0) {
    *function = version >= 99000 ? (void*)allocate_since_99 : (void*)cuMemAlloc;
  }
  const int found = *function != NULL;
  if (status != NULL) {
    *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
