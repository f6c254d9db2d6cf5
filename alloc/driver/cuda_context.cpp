#include "driver/cuda_context.hpp"

#include <cstdint>
#include <string>

namespace tessera {
namespace {

constexpr std::uint64_t kDefaultStreams = 2;  // ids up to here (driver.hpp)

}  // namespace

Status cuda_status(const CudaSymbols& symbols, CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return Status::ok();
  const char* name = nullptr;
  if (symbols.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown";
  std::string message = std::string(call) + ": " + name + " (" + std::to_string(static_cast<int>(result)) + ")";
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return Status(Code::kOutOfMemory, std::move(message));
  if (result == CUDA_ERROR_NOT_READY) return Status(Code::kNotReady, std::move(message));
  if (result == CUDA_ERROR_NOT_SUPPORTED) return Status(Code::kNotSupported, std::move(message));
  return Status(Code::kDriver, std::move(message), static_cast<int>(result));
}

CudaContexts::CudaContexts(const CudaSymbols& symbols, std::size_t devices) : symbols_(symbols), entries_(devices) {}

// At the end of a process the driver may already be unloaded; then there is nothing left to release.
CudaContexts::~CudaContexts() {
  MutexLock lock(lock_);
  for (std::size_t device = 0; device < entries_.size(); ++device) {
    if (!entries_[device].held) continue;
    (void)symbols_.cuDevicePrimaryCtxRelease(static_cast<CUdevice>(device));
  }
}

Result<CUcontext> CudaContexts::adopted(DeviceId device) {
  MutexLock lock(lock_);
  Entry& entry = entries_[device.value()];
  if (entry.context != nullptr) return entry.context;
  CUcontext current = nullptr;
  TESSERA_TRY(cuda_status(symbols_, symbols_.cuCtxGetCurrent(&current), "cuCtxGetCurrent"));
  CUdevice current_device = -1;
  if (current != nullptr) {
    TESSERA_TRY(cuda_status(symbols_, symbols_.cuCtxGetDevice(&current_device), "cuCtxGetDevice"));
  }
  const bool serves = current != nullptr && current_device == static_cast<CUdevice>(device.value());
  TESSERA_TRY(adopt(device, serves ? current : nullptr, entry));
  return entry.context;
}

Status CudaContexts::adopt(DeviceId device, CUcontext current, Entry& entry) {
  const auto ordinal = static_cast<CUdevice>(device.value());
  unsigned flags = 0;
  int active = 0;
  TESSERA_TRY(cuda_status(symbols_, symbols_.cuDevicePrimaryCtxGetState(ordinal, &flags, &active),
                          "cuDevicePrimaryCtxGetState"));
  // A program with a context of its own must not get a primary one that it never requested.
  if (current != nullptr && active == 0) {
    entry.context = current;
    return Status::ok();
  }
  CUcontext primary = nullptr;
  TESSERA_TRY(cuda_status(symbols_, symbols_.cuDevicePrimaryCtxRetain(&primary, ordinal), "cuDevicePrimaryCtxRetain"));
  entry.held = current == nullptr || current == primary;
  entry.context = entry.held ? primary : current;
  if (entry.held) return Status::ok();
  return cuda_status(symbols_, symbols_.cuDevicePrimaryCtxRelease(ordinal), "cuDevicePrimaryCtxRelease");
}

Result<CUcontext> CudaContexts::any() {
  {
    MutexLock lock(lock_);
    for (const Entry& entry : entries_) {
      if (entry.context != nullptr) return entry.context;
    }
  }
  return adopted(DeviceId(0));
}

Result<CUcontext> CudaContexts::wanted_for(DeviceId device) {
  CUcontext current = nullptr;
  TESSERA_TRY(cuda_status(symbols_, symbols_.cuCtxGetCurrent(&current), "cuCtxGetCurrent"));
  CUdevice current_device = -1;
  if (current != nullptr && symbols_.cuCtxGetDevice(&current_device) == CUDA_SUCCESS &&
      current_device == static_cast<CUdevice>(device.value())) {
    return CUcontext(nullptr);
  }
  return adopted(device);
}

Result<CUcontext> CudaContexts::wanted_for(StreamId stream) {
  CUcontext current = nullptr, own = nullptr;
  TESSERA_TRY(cuda_status(symbols_, symbols_.cuCtxGetCurrent(&current), "cuCtxGetCurrent"));
  const bool made = stream.value() > kDefaultStreams && symbols_.cuStreamGetCtx != nullptr;
  if (made && symbols_.cuStreamGetCtx(reinterpret_cast<CUstream>(stream.value()), &own) == CUDA_SUCCESS) {
    return own == current ? nullptr : own;
  }
  if (current != nullptr) return CUcontext(nullptr);
  return any();
}

CudaScope::CudaScope(const CudaSymbols& symbols, CudaContexts& contexts) : symbols_(symbols) {
  exchange_capture_mode();
  CUcontext current = nullptr;
  status_ = cuda_status(symbols_, symbols_.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (status_.is_ok() && current == nullptr) push(contexts.any());
}

CudaScope::CudaScope(const CudaSymbols& symbols, CudaContexts& contexts, DeviceId device) : symbols_(symbols) {
  exchange_capture_mode();
  push(contexts.wanted_for(device));
}

CudaScope::CudaScope(const CudaSymbols& symbols, CudaContexts& contexts, StreamId stream) : symbols_(symbols) {
  exchange_capture_mode();
  push(contexts.wanted_for(stream));
}

CudaScope::CudaScope(const CudaSymbols& symbols, CUcontext context) : symbols_(symbols) {
  exchange_capture_mode();
  push(context);
}

void CudaScope::push(const Result<CUcontext>& context) {
  status_ = context.is_ok() ? Status::ok() : context.status();
  if (!status_.is_ok() || context.value() == nullptr) return;
  status_ = cuda_status(symbols_, symbols_.cuCtxPushCurrent(context.value()), "cuCtxPushCurrent");
  pushed_ = status_.is_ok();
}

CudaScope::~CudaScope() {
  CUcontext popped = nullptr;
  // Fails only when the context was destroyed meanwhile, and then it is off the stack too.
  if (pushed_) (void)symbols_.cuCtxPopCurrent(&popped);
  exchange_capture_mode();
}

// Fails only if the driver is not initialised, and then nothing is being captured.
void CudaScope::exchange_capture_mode() {
  if (symbols_.cuThreadExchangeStreamCaptureMode == nullptr) return;
  (void)symbols_.cuThreadExchangeStreamCaptureMode(&capture_mode_);
}

}  // namespace tessera
