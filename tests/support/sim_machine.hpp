// A simulated device for tests, with the kernel that driver tests launch.
//
// Thread safety: as for SimDriver.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "base/clock.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_kernel.h"

namespace tessera {

// The device of single-device machines.
inline constexpr DeviceId kDevice{0};

// void churn(uint32_t* data, uint32_t count, uint32_t rounds), one thread per element.
inline int run_churn_block(const sim_block* block, const void* parameters) {
  struct {
    std::uint32_t* data;
    std::uint32_t count;
    std::uint32_t rounds;
  } p;
  std::memcpy(&p, parameters, sizeof(p));
  const std::uint32_t first = block->index[0] * block->block[0];
  for (std::uint32_t i = first; i < first + block->block[0] && i < p.count; ++i) {
    std::uint32_t value = p.data[i];
    for (std::uint32_t round = 0; round < p.rounds; ++round) value = value * 1664525U + 1013904223U;
    p.data[i] = value;
  }
  return 0;
}

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
