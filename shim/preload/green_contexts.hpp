// Green contexts: parts of a device that share the primary context's memory.
//
// What is allocated in one is the primary context's, so it is managed there. Streams made in one
// have handles, whose events the driver refuses: then the device is waited for, with all green
// contexts. Its default streams have the handles of the primary context's, so nothing tells them
// apart later: work there is waited for on the host, at once.
//
// Thread safety: any thread. Until a green context is used all of it costs one load.
#pragma once

#include <atomic>

#include "cuda_api.hpp"

namespace tessera::preload {

namespace detail {
extern constinit std::atomic<bool> any_green;
bool is_green_default(CUstream stream);
}  // namespace detail

// Whether it is a default stream, and the current context a green one.
inline bool of_green_default(CUstream stream) {
  return detail::any_green.load(std::memory_order_relaxed) && detail::is_green_default(stream);
}

// Makes the primary context current for as long as it lives, if that of a green context is.
class InPrimary {
 public:
  InPrimary() : pushed_(detail::any_green.load(std::memory_order_relaxed) && push()) {}
  ~InPrimary() {
    if (pushed_) pop();
  }
  InPrimary(const InPrimary&) = delete;
  InPrimary& operator=(const InPrimary&) = delete;

 private:
  static bool push();
  static void pop();

  const bool pushed_;
};

}  // namespace tessera::preload
