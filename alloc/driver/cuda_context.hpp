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

// OK, or the driver's code with the name of the call: kOutOfMemory, kNotReady and kNotSupported are distinguished,
// everything else is kDriver.
Status cuda_status(const CudaSymbols& symbols, CUresult result, const char* call);

class CudaContexts {
 public:
  CudaContexts(const CudaSymbols& symbols, std::size_t devices);
  ~CudaContexts();

  // The context in which this device's streams and events are created.
  Result<CUcontext> adopted(DeviceId device);
  // Any adopted context, for calls that need one; the first device's if there is none yet.
  Result<CUcontext> any();
  // The adopted context of `device` when the thread's current one is of another device; null when the current one can
  // be used.
  Result<CUcontext> wanted_for(DeviceId device);
  // The context that the stream was created in; null when it is the current one. Any context where it is not known: for
  // a default stream it is the current one.
  Result<CUcontext> wanted_for(StreamId stream);

 private:
  struct Entry {
    CUcontext context = nullptr;
    bool held = false;  // we hold a reference to the primary context
  };

  // Retains the primary context if `current` is it, so that the program's release does not destroy it.
  Status adopt(DeviceId device, CUcontext current, Entry& entry) REQUIRES_LOCK(lock_);

  const CudaSymbols& symbols_;
  Mutex lock_{LockRank::kDriver};
  std::vector<Entry> entries_ GUARDED_BY(lock_);
};

// Makes a context current until the end of the scope, if one is needed. Our calls are never part of a graph that the
// program captures, so they are also exempt from the restrictions during its captures.
class CudaScope {
 public:
  // For a call that names a stream, an event or an address: any current context can be used.
  CudaScope(const CudaSymbols& symbols, CudaContexts& contexts);
  // For a call that only the stream's own device may make, since access of other devices to its addresses is unknown.
  CudaScope(const CudaSymbols& symbols, CudaContexts& contexts, StreamId stream);
  // For a call about `device`.
  CudaScope(const CudaSymbols& symbols, CudaContexts& contexts, DeviceId device);
  // For creating objects that must belong to exactly this context.
  CudaScope(const CudaSymbols& symbols, CUcontext context);
  ~CudaScope();
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;

  const Status& status() const { return status_; }

 private:
  void push(const Result<CUcontext>& context);

  const CudaSymbols& symbols_;
  void exchange_capture_mode();

  CUstreamCaptureMode capture_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // the mode not in force
  bool pushed_ = false;
  Status status_;
};

}  // namespace tessera
