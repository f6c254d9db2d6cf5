// The context in which a driver call runs: chosen, and made current for one scope.
//
// Thread safety: CudaContexts from any thread; a CudaScope belongs to the thread that made it.
// Invariants: see cuda_driver.hpp. A scope leaves the thread's context stack as it found it.
#pragma once

#include <vector>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "driver/cuda_symbols.hpp"

namespace tessera {

// OK, or the driver's code with the name of the call: kOutOfMemory, kNotReady and kNotSupported are
// told apart, all else is kDriver.
Status cuda_status(const CudaSymbols& symbols, CUresult result, const char* call);

class CudaContexts {
 public:
  CudaContexts(const CudaSymbols& symbols, std::size_t devices);
  ~CudaContexts();

  // The context in which this device's streams and events are made.
  Result<CUcontext> adopted(DeviceId device);
  // Some adopted context, for calls that need any; the first device's if there is none yet.
  Result<CUcontext> any();
  // The adopted context of `device` when the thread's current one is of another device; null when
  // the current one serves.
  Result<CUcontext> wanted_for(DeviceId device);
  // The context that the stream was made in; null when it is the current one. Any where it is not known: of a default
  // stream it is the current one.
  Result<CUcontext> wanted_for(StreamId stream);

 private:
  struct Entry {
    CUcontext context = nullptr;
    bool held = false;  // a reference to the primary context is ours
  };

  // Holds the primary context if `current` is it, so that the program's release does not end it.
  Status adopt(DeviceId device, CUcontext current, Entry& entry) REQUIRES_LOCK(lock_);

  const CudaSymbols& symbols_;
  Mutex lock_{LockRank::kDriver};
  std::vector<Entry> entries_ GUARDED_BY(lock_);
};

// Makes a context current until the end of the scope, if one is needed. Our calls are never part of a
// graph that the program captures, so they are also exempt from what its captures forbid.
class CudaScope {
 public:
  // For a call that names a stream, an event or an address: any current context serves.
  CudaScope(const CudaSymbols& symbols, CudaContexts& contexts);
  // For a call that only the stream's own device may make: who else has access to what it names is not known.
  CudaScope(const CudaSymbols& symbols, CudaContexts& contexts, StreamId stream);
  // For a call about `device`.
  CudaScope(const CudaSymbols& symbols, CudaContexts& contexts, DeviceId device);
  // For making what must live in exactly this context.
  CudaScope(const CudaSymbols& symbols, CUcontext context);
  ~CudaScope();
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;

  const Status& status() const { return status_; }

 private:
  void push(const Result<CUcontext>& context);

  const CudaSymbols& symbols_;
  void exchange_capture_mode();

  CUstreamCaptureMode capture_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // the one not in force
  bool pushed_ = false;
  Status status_;
};

}  // namespace tessera
