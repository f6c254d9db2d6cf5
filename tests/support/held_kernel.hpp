// Work on a simulated device that runs until the test releases it.
//
// Thread safety: let_go may be called from any thread.
#pragma once

#include <atomic>
#include <cstring>
#include <span>

#include "driver/driver.hpp"
#include "sim/sim_kernel.h"

namespace tessera {

class HeldKernel {
 public:
  // Queues the work. REQUIRES: this object outlives it.
  Status launch(Driver& driver, StreamId stream) {
    static constexpr sim_parameter kParameters[] = {{0, 8}};
    static constexpr sim_kernel kKernel = {SIM_KERNEL_ABI_VERSION, "held", &run, 1, kParameters, 8};
    const std::atomic<bool>* const gone = &gone_;
    Launch launch;
    launch.kernel = &kKernel;
    launch.parameters = std::as_bytes(std::span(&gone, 1));
    return driver.launch(launch, stream);
  }
  void let_go() {
    gone_.store(true);
    gone_.notify_all();
  }
  ~HeldKernel() { let_go(); }

 private:
  static int run(const sim_block*, const void* packed) {
    const std::atomic<bool>* gone = nullptr;
    std::memcpy(&gone, packed, sizeof(gone));
    gone->wait(false);
    return 0;
  }

  std::atomic<bool> gone_{false};
};

}  // namespace tessera
