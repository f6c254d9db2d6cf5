// A simulated device for tests, with the kernel that driver tests launch.
//
// Thread safety: as for SimDriver.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "base/clock.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_kernel.h"
#include "word_loops.hpp"

namespace tessera {

// The device of single-device machines.
inline constexpr DeviceId kDevice{0};

inline const sim_kernel* churn_kernel() {
  static constexpr sim_parameter kParameters[] = {{0, 8}, {8, 4}, {12, 4}};
  static constexpr sim_kernel kKernel = {SIM_KERNEL_ABI_VERSION, "churn", run_churn_block, 3, kParameters, 16};
  return &kKernel;
}

// Fails the test if any resource was not released.
class SimMachine {
 public:
  static constexpr bool kFindsDestroyedHandles = true;

  explicit SimMachine(SimOptions options = {.memory = 64_MiB}) : sim_(std::move(options), clock_) {}

  SimDriver& driver() { return sim_; }
  const void* churn_kernel() { return tessera::churn_kernel(); }
  void finish() {
    for (const std::string& leak : sim_.leaks()) ADD_FAILURE() << "leaked " << leak;
  }

 private:
  SteadyClock clock_;
  SimDriver sim_;
};

}  // namespace tessera
