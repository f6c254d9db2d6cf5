#include "machine.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/log.hpp"
#include "entry_points.hpp"

namespace tessera::softcuda {
namespace {

// Operations that a stream accepts before the queuing thread has to wait, as on GPUs.
constexpr std::size_t kQueueDepth = 1024;

std::atomic<Machine*> the_machine = nullptr;
std::atomic<bool> forked = false;
std::atomic<Machine*> ended_machine = nullptr;

SimOptions sim_options(const Environment& environment, SharedDevices* shared) {
  SimOptions options;
  options.hardware = shared;
  options.devices = environment.devices;
  options.memory = environment.memory;
  options.inbound.bytes_per_second = environment.bandwidth;
  options.outbound.bytes_per_second = environment.bandwidth;
  options.peer.bytes_per_second = environment.bandwidth;
  options.pinning.bytes_per_second = environment.pinning;
  options.host_frames = environment.host_frames;
  options.takes_hints = environment.hints;
  options.aligns = environment.aligns;
  options.queue_depth = kQueueDepth;
  // Always on: cuMemAlloc needs it. Without it, only the program's calls are refused (virtual_memory_calls.cpp).
  options.virtual_memory = true;
  return options;
}

void forget_machine_in_child() {
  if (the_machine.exchange(nullptr) != nullptr) forked = true;
}

// As a driver does: exit handlers that were registered before cuInit run after this, and get an error. Queued work goes
// on.
void end_at_exit() { ended_machine = the_machine.exchange(nullptr); }

void report_at_exit() {
  report_unsupported_calls();
  if (Machine* const machine = Machine::get(); machine != nullptr) {
    log_line(LogLevel::kError, "software device: at most {} bytes were allocated at once",
             machine->memory.peak().value());
  }
}

CUresult start_once() {
  const auto environment = read_environment();
  if (!environment.is_ok()) {
    log_line(LogLevel::kError, "software device: {}", environment.status().message());
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (environment.value().devices == 0) return CUDA_ERROR_NO_DEVICE;
  std::unique_ptr<SharedDevices> shared;
  if (!environment.value().shared.empty()) {
    auto opened =
        SharedDevices::open(environment.value().shared, environment.value().devices, environment.value().memory);
    if (!opened.is_ok()) {
      log_line(LogLevel::kError, "software device: {}", opened.status().message());
      return CUDA_ERROR_INVALID_VALUE;
    }
    shared = opened.take();
  }
  the_machine = new Machine(environment.value(), std::move(shared));  // never deleted, see machine.hpp
  ::pthread_atfork(nullptr, nullptr, forget_machine_in_child);
  std::atexit(end_at_exit);
  if (environment.value().verbose) std::atexit(report_at_exit);
  return CUDA_SUCCESS;
}

}  // namespace

Machine::Machine(const Environment& asked, std::unique_ptr<SharedDevices> devices)
    : environment(asked),
      shared(std::move(devices)),
      driver(sim_options(asked, shared.get()), clock),
      contexts(asked.devices),
      memory(driver, ranges),
      host_memory(driver, ranges, asked.pinned),
      streams(driver),
      modules(ranges, memory, asked.module_memory),
      pools(asked.devices),
      captures(streams, graphs) {}

Status Machine::finish_all() {
  for (int device = 0; device < environment.devices; ++device) {
    TESSERA_TRY(driver.synchronize(DeviceId(static_cast<std::uint64_t>(device))));
  }
  return {};
}

Machine* Machine::get() { return the_machine.load(std::memory_order_acquire); }

bool Machine::has_ended() { return ended_machine.load() != nullptr; }

CUresult Machine::without_machine() { return has_ended() ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED; }

CUresult Machine::start() {
  static std::mutex starting;
  if (forked || has_ended()) return without_machine();
  const std::lock_guard lock(starting);
  return get() != nullptr ? CUDA_SUCCESS : start_once();
}

}  // namespace tessera::softcuda
