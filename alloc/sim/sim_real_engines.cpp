#include "sim/sim_real_engines.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"
#include "base/thread.hpp"
#include "driver/native_codes.hpp"
#include "sim/sim_hardware.hpp"

namespace tessera {
namespace {

// With the prefix "sim63-", each fits the 15 characters of a thread's name.
constexpr const char* kEngineNames[kSimEngines] = {"compute", "inbound", "outbound", "peer_in", "peer_out", "host"};

// Concurrent kernels per device, as on GPUs since compute capability 7.5.
constexpr std::size_t kMostKernels = 128;

constexpr std::size_t most_at_once(SimEngine engine) { return engine == SimEngine::kCompute ? kMostKernels : 1; }

// The program's signals are left to its own threads; faults stay enabled, since they are a kernel's.
void block_signals_of_the_program() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
    sigdelset(&signals, fault);
  }
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
}

}  // namespace

RealEngines::RealEngines(int devices, const Clock& clock, std::size_t queue_depth, SimHardware* hardware)
    : SimEngines(devices, clock, queue_depth), hardware_(hardware) {
  for (int i = 0; i < devices; ++i) devices_.push_back(std::make_unique<Device>());
}

RealEngines::~RealEngines() {
  {
    MutexLock lock(mutex_);
    while (schedule_.unfinished() > 0) any_finished_.wait(mutex_);
    stopping_ = true;
    for (const auto& device : devices_) {
      for (Engine& engine : device->engines) engine.ready.notify_all();
    }
  }
  for (const auto& device : devices_) {
    for (Engine& engine : device->engines) {
      for (std::thread& thread : engine.threads) thread.join();
    }
  }
}

void RealEngines::pass(Nanoseconds time) { std::this_thread::sleep_for(std::chrono::nanoseconds(time.value())); }

Status RealEngines::add_thread(DeviceId device, SimEngine engine) {
  std::thread thread;
  TESSERA_TRY(start_thread(thread, [this, device, engine] { run_engine(device, engine); }));
  devices_[device.value()]->engines[static_cast<std::size_t>(engine)].threads.push_back(std::move(thread));
  return {};
}

Status RealEngines::prepare(DeviceId device, SimEngine engine) {
  if (!devices_[device.value()]->engines[static_cast<std::size_t>(engine)].threads.empty()) return {};
  const Status started = add_thread(device, engine);
  if (started.is_ok()) return {};
  // A driver's error has no text, and this one is no lack of memory.
  std::string text = fmt::format("no thread for an engine of device {}: {}", device.value(), started.message());
  if (!reported_) log_line(LogLevel::kWarning, "simulated device: {}", text);
  reported_ = true;
  return {Code::kOutOfMemory, std::move(text), native::kOutOfMemory};
}

void RealEngines::run_engine(DeviceId device, SimEngine engine) {
  block_signals_of_the_program();
  const auto index = static_cast<std::size_t>(engine);
  pthread_setname_np(pthread_self(), fmt::format("sim{}-{}", device.value(), kEngineNames[index]).c_str());
  Engine& own = devices_[device.value()]->engines[index];
  MutexLock lock(mutex_);
  while (true) {
    const SimOp op = schedule_.start(device, engine);
    if (op == SimOp()) {
      if (stopping_) return;
      own.ready.wait(mutex_);
      continue;
    }
    ++own.busy;
    carry_out(device, engine, op);
    --own.busy;  // before newly ready work requests a thread
    retire(op);
    any_finished_.notify_all();
    wake_waiters();
  }
}

// Host functions need no engine of the device.
void RealEngines::carry_out(DeviceId device, SimEngine engine, SimOp op) {
  if (hardware_ == nullptr || engine == SimEngine::kHost) return let_time_pass(op);
  mutex_.unlock();
  SimTurn turn(*hardware_, device, engine);
  mutex_.lock();
  let_time_pass(op);
  turn.end(schedule_.ready_count(device, engine) > 0);
}

void RealEngines::let_time_pass(SimOp op) {
  const Nanoseconds until = clock_.now() + work(op).time;
  run(op);
  const Nanoseconds now = clock_.now();
  if (now >= until) return;
  mutex_.unlock();
  std::this_thread::sleep_for(std::chrono::nanoseconds((until - now).value()));
  mutex_.lock();
}

// If no thread is available for another kernel, it waits until one ends.
void RealEngines::start_ready() {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const DeviceId device(i);
    for (std::size_t j = 0; j < kSimEngines; ++j) {
      const auto kind = static_cast<SimEngine>(j);
      Engine& engine = devices_[i]->engines[j];
      const std::size_t ready = schedule_.ready_count(device, kind);
      if (ready == 0) continue;
      const std::size_t wanted = std::min(engine.busy + ready, most_at_once(kind));
      while (engine.threads.size() < wanted && add_thread(device, kind).is_ok()) continue;
      for (std::size_t k = 0; k < std::min(ready, engine.threads.size()); ++k) engine.ready.notify_one();
    }
  }
}

void RealEngines::await_progress() { any_finished_.wait(mutex_); }

void RealEngines::await(SimOp op) {
  const auto awaited = awaited_.insert(op);
  while (!schedule_.is_finished(op)) awaited_finished_.wait(mutex_);
  awaited_.erase(awaited);
}

void RealEngines::await(SimOp op, Nanoseconds until) {
  const auto awaited = awaited_.insert(op);
  for (Nanoseconds now = clock_.now(); now < until && !schedule_.is_finished(op); now = clock_.now()) {
    awaited_finished_.wait_for(mutex_, std::chrono::nanoseconds((until - now).value()));
  }
  awaited_.erase(awaited);
}

// Waking a thread costs a tenth of a page's copy, so this happens only if an awaited operation, or the marker behind
// it, is over.
void RealEngines::wake_waiters() {
  for (const SimOp op : awaited_) {
    if (schedule_.is_finished(op)) return awaited_finished_.notify_all();
  }
}

}  // namespace tessera
