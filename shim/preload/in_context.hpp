// Makes a context current as long as it exists: many calls of the driver are about the current one.
//
// Thread safety: none; the thread's own stack of contexts, so the last one made ends first.
#pragma once

#include "true_driver.hpp"

namespace tessera::preload {

class InContext {
 public:
  // Null: the current context stays, and the result is an error.
  explicit InContext(CUcontext context)
      : result_(context == nullptr ? CUDA_ERROR_INVALID_CONTEXT
                                   : call_true(&TrueDriver::cuCtxPushCurrent_v2, context)) {}
  ~InContext() {
    CUcontext popped = nullptr;
    if (result_ == CUDA_SUCCESS) (void)call_true(&TrueDriver::cuCtxPopCurrent_v2, &popped);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

  // The driver's: the context is current only after CUDA_SUCCESS.
  CUresult result() const { return result_; }

  // Waits for all work of the context.
  CUresult finish() const { return result_ == CUDA_SUCCESS ? call_true(&TrueDriver::cuCtxSynchronize) : result_; }
  // Its device; -1 if that is not known.
  CUdevice device() const {
    CUdevice device = -1;
    const bool known = result_ == CUDA_SUCCESS && call_true(&TrueDriver::cuCtxGetDevice, &device) == CUDA_SUCCESS;
    return known ? device : -1;
  }

 private:
  const CUresult result_;
};

}  // namespace tessera::preload
