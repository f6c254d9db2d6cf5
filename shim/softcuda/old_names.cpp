// Entry points under names of earlier CUDA versions, where only the name or a default changed. Versions with 32-bit
// addresses remain unsupported.
#include "cuda_api.hpp"

#undef cuCtxDestroy
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuDeviceGetUuid
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuMemHostRegister

extern "C" {
#pragma GCC visibility push(default)

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}
CUresult cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }
CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxPushCurrent_v2(context); }
CUresult cuCtxPopCurrent(CUcontext* context) { return cuCtxPopCurrent_v2(context); }
CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }
CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}
CUresult cuMemHostRegister(void* host, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(host, bytes, flags);
}

// There is nothing to start or stop for a profiler.
CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

#pragma GCC visibility pop
}
