// Which stream a handle of 0 means during one call: the legacy stream, or the thread's own.
//
// CUDA has two spellings of each call that takes a stream or implies one; the _ptds and _ptsz
// spelling differs only in what stream 0 means. So the generated variants set this for the length
// of the plain call, and no call has to be written twice.
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
