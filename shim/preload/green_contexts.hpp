// Green contexts: parts of a device that share the primary context's memory.
//
// An allocation in a green context belongs to the primary context, so it is managed there. The driver refuses events on
// streams made in a green context; such work is waited for by synchronising the device with all its green contexts. A
// green context's default streams have the same handles as the primary context's and cannot be told apart later: work
// on them is waited for on the host, at once.
//
// Thread safety: any thread. Until a green context is used, every function costs one load.
#pragma once

#include "cuda_api.hpp"
#include "launch_facts.hpp"

namespace tessera::preload {

namespace detail {
bool is_green_default(CUstream stream);
}  // namespace detail

// Whether `stream` is a default stream and the current context is a green one.
inline bool of_green_default(CUstream stream) {
  return detail::launch_facts.any_green.load(std::memory_order_relaxed) && detail::is_green_default(stream);
}

// Makes the primary context current during its lifetime if the current one is a green context.
class InPrimary {
 public:
  InPrimary() : pushed_(detail::launch_facts.any_green.load(std::memory_order_relaxed) && push()) {}
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
