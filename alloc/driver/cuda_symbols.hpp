// The entry points of the CUDA driver that Tessera calls, found once, by their exported names.
//
// Why a table: the driver is never linked, so that the library loads on machines without a GPU, and so that an
// interposer can pass us the real functions (include/tessera/interpose.h) instead of its own hooks. cuda.h's macros
// turn each name below into the ABI's (cuMemAlloc -> cuMemAlloc_v2), in the member and in the string that is looked up.
//
// Thread safety: constant after find(), and may be shared.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "base/status.hpp"
#include "driver/cuda_resolver.hpp"

// cuda.h declares the second version, which only drivers since 12.8 have; the first takes the same parameters, and
// every driver has it.
#undef cuEventElapsedTime
extern "C" CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);

// Tessera cannot work with a driver without one of these.
#define TESSERA_CUDA_REQUIRED(X) \
  X(cuInit)                      \
  X(cuGetErrorName)              \
  X(cuDeviceGetCount)            \
  X(cuDeviceGet)                 \
  X(cuDeviceGetName)             \
  X(cuDeviceGetAttribute)        \
  X(cuDeviceTotalMem)            \
  X(cuDevicePrimaryCtxRetain)    \
  X(cuDevicePrimaryCtxRelease)   \
  X(cuDevicePrimaryCtxGetState)  \
  X(cuCtxGetCurrent)             \
  X(cuCtxGetDevice)              \
  X(cuCtxPushCurrent)            \
  X(cuCtxPopCurrent)             \
  X(cuCtxSynchronize)            \
  X(cuMemGetInfo)                \
  X(cuMemHostRegister)           \
  X(cuMemHostUnregister)         \
  X(cuMemcpyHtoDAsync)           \
  X(cuMemcpyDtoHAsync)           \
  X(cuMemcpyDtoDAsync)           \
  X(cuMemsetD8Async)             \
  X(cuStreamCreate)              \
  X(cuStreamDestroy)             \
  X(cuStreamSynchronize)         \
  X(cuStreamQuery)               \
  X(cuStreamWaitEvent)           \
  X(cuEventCreate)               \
  X(cuEventDestroy)              \
  X(cuEventRecord)               \
  X(cuEventQuery)                \
  X(cuEventSynchronize)          \
  X(cuEventElapsedTime)          \
  X(cuLaunchKernel)

// Virtual memory management (CUDA 10.2): null members mean that the machine does not support it. The exchange of
// capture modes is older, so a driver with virtual memory management has it.
#define TESSERA_CUDA_OPTIONAL(X)   \
  X(cuMemGetAllocationGranularity) \
  X(cuMemAddressReserve)           \
  X(cuMemAddressFree)              \
  X(cuMemCreate)                   \
  X(cuMemRelease)                  \
  X(cuMemMap)                      \
  X(cuMemUnmap)                    \
  X(cuMemSetAccess)                \
  X(cuThreadExchangeStreamCaptureMode)

// Where one is missing, its information is left out, or its batched work is done one by one.
#define TESSERA_CUDA_EXTRA(X)     \
  X(cuDeviceGetGraphMemAttribute) \
  X(cuDeviceGetUuid)              \
  X(cuModuleLoadData)             \
  X(cuModuleGetFunction)          \
  X(cuStreamGetCtx)               \
  X(cuMemHostGetDevicePointer)

namespace tessera {

// The function exported as cuMemcpyBatchAsync by 12.8 and 12.9, which also returns the index of a refused copy. The
// later form came with 13.0 under another name (_v2), so the name that a driver has tells the form. Both types are
// written out, since in cuda.h the unversioned name may be either.
using CudaFirstCopyBatch = CUresult(CUDAAPI*)(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                                              CUmemcpyAttributes* attributes, std::size_t* attribute_starts,
                                              std::size_t attribute_count, std::size_t* refused, CUstream stream);
using CudaCopyBatch = CUresult(CUDAAPI*)(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                                         CUmemcpyAttributes* attributes, std::size_t* attribute_starts,
                                         std::size_t attribute_count, CUstream stream);

// Since CUDA 12.5, so headers may lack it.
using CudaContextRecord = CUresult(CUDAAPI*)(CUcontext context, CUevent event);

struct CudaSymbols {
#define TESSERA_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  TESSERA_CUDA_REQUIRED(TESSERA_CUDA_MEMBER)
  TESSERA_CUDA_OPTIONAL(TESSERA_CUDA_MEMBER)
  TESSERA_CUDA_EXTRA(TESSERA_CUDA_MEMBER)
#undef TESSERA_CUDA_MEMBER
  CudaFirstCopyBatch first_copy_batch = nullptr;
  CudaCopyBatch copy_batch = nullptr;
  CudaContextRecord record_context = nullptr;

  // Errors: kNotSupported naming the first required symbol that `resolver` does not have.
  static Result<CudaSymbols> find(const CudaResolver& resolver);

  // Whether all optional ones were found.
  bool virtual_memory() const;
};

}  // namespace tessera
