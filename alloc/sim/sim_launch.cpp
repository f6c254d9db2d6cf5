#include "sim/sim_launch.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "driver/native_codes.hpp"
#include "sim/sim_faults.hpp"
#include "sim/sim_hardware.hpp"
#include "sim/sim_kernel.h"

namespace tessera {
namespace {

constexpr std::uint64_t kMaxThreads = 1024;  // per block
constexpr std::uint32_t kMaxShared = 227 << 10;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// The state of a running launch; plain data, because a fault leaves it without running destructors.
struct Run {
  const sim_kernel* kernel;
  const void* parameters;
  SimTurn* turn;  // null if no other process uses the device
  sim_block block;
  bool starved = false;
};

// REQUIRES: each dimension is at least 1.
void run_blocks(void* argument) {
  Run& run = *static_cast<Run*>(argument);
  const std::uint32_t* const grid = run.block.grid;
  std::uint32_t* const index = run.block.index;
  for (index[2] = 0; index[2] < grid[2]; ++index[2]) {
    for (index[1] = 0; index[1] < grid[1]; ++index[1]) {
      for (index[0] = 0; index[0] < grid[0]; ++index[0]) {
        run.starved = run.kernel->run_block(&run.block, run.parameters) != 0;
        if (run.starved) return;
        if (run.turn != nullptr) run.turn->pause();
      }
    }
  }
}

Status run_kernel(const sim_kernel& kernel, const Launch& launch, const SimWork& work) {
  const std::unique_ptr<void, Free> shared(
      launch.shared_bytes == 0 ? nullptr : std::aligned_alloc(16, (launch.shared_bytes + 15U) & ~15U));
  if (launch.shared_bytes != 0 && shared == nullptr) {
    return {Code::kDriver, fmt::format("kernel {}: no shared memory", kernel.name), native::kLaunchFailed};
  }
  Run run{.kernel = &kernel,
          .parameters = work.parameters.data(),
          .turn = SimTurn::current(),
          .block = {.grid = {launch.grid.x, launch.grid.y, launch.grid.z},
                    .block = {launch.block.x, launch.block.y, launch.block.z},
                    .index = {0, 0, 0},
                    .shared = shared.get()}};
  const auto fault = run_guarded(run_blocks, &run);
  if (run.starved) {
    return {Code::kDriver, fmt::format("kernel {}: no memory for the stacks of its threads", kernel.name),
            native::kLaunchOutOfResources};
  }
  if (!fault) return {};
  return {Code::kDriver,
          fmt::format("kernel {} touched {:#x}, where nothing is mapped, in block ({}, {}, {})", kernel.name,
                      fault->address, run.block.index[0], run.block.index[1], run.block.index[2]),
          native::kIllegalAddress};
}

bool is_empty(const Dim3& size) { return size.x == 0 || size.y == 0 || size.z == 0; }

}  // namespace

Result<SimWork> make_launch(const Launch& launch) {
  const auto* const kernel = static_cast<const sim_kernel*>(launch.kernel);
  if (kernel == nullptr || kernel->abi_version != SIM_KERNEL_ABI_VERSION) {
    return Status(Code::kDriver, "launch of a handle that is not a kernel of this device", native::kInvalidHandle);
  }
  const Dim3& block = launch.block;
  const std::uint64_t plane = std::uint64_t{block.x} * block.y;
  if (is_empty(launch.grid) || is_empty(block) || plane > kMaxThreads || plane * block.z > kMaxThreads ||
      launch.shared_bytes > kMaxShared) {
    return Status(Code::kDriver,
                  fmt::format("launch of {}: a grid of {}x{}x{} blocks of {}x{}x{} threads with {} "
                              "bytes of shared memory",
                              kernel->name, launch.grid.x, launch.grid.y, launch.grid.z, block.x, block.y, block.z,
                              launch.shared_bytes),
                  native::kInvalidValue);
  }
  if (launch.parameters.size() < kernel->parameter_bytes) {
    return Status(Code::kDriver,
                  fmt::format("launch of {}: {} bytes of parameters, expected {}", kernel->name,
                              launch.parameters.size(), kernel->parameter_bytes),
                  native::kInvalidValue);
  }
  SimWork work;
  work.name = kernel->name;
  work.parameters.assign(launch.parameters.begin(), launch.parameters.end());
  Launch shape = launch;
  shape.parameters = {};  // the caller's; the work has a copy
  work.run = [kernel, shape](const SimWork& self) { return run_kernel(*kernel, shape, self); };
  return work;
}

}  // namespace tessera
