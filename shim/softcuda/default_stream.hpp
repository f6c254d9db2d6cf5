// The meaning of stream handle 0 during one call: the legacy stream, or the thread's own.
//
// CUDA has two variants of each call that takes or implies a stream; the _ptds and _ptsz variants differ only in the
// meaning of stream 0. The generated variants set this flag for the duration of the plain call, so no call has to be
// written twice.
//
// Thread safety: thread-local.
#pragma once

#include "cuda_api.hpp"

namespace tessera::softcuda {

class PerThreadDefaultStream {
 public:
  PerThreadDefaultStream() { ++depth(); }
  ~PerThreadDefaultStream() { --depth(); }
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
  PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;

  static bool in_force() { return depth() != 0; }

 private:
  static int& depth() {
    static thread_local int value = 0;
    return value;
  }
};

}  // namespace tessera::softcuda
