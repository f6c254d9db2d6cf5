#include "driver/sim_real_engines.hpp"

#include <pthread.h>
#include <signal.h>

#include <chrono>

#include <fmt/format.h>

#include "base/thread.hpp"
#include "driver/native_codes.hpp"

namespace tessera {
namespace {

// With "sim63-" before it each has the 15 characters at most that a thread's name may have.
constexpr const char* kEngineNames[kSimEngines] = {"compute", "inbound",  "outbound",
                                                   "peer_in", "peer_out", "host"};

// The program's own signals belong to its own threads; faults stay, they are a kernel's.
void block_signals_of_the_program() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
    sigdelset(&signals, fault);
  }
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
}

}  // namespace

RealEngines::RealEngines(int devices, const Clock& clock) : SimEngines(devices, clock) {
  for (int i = 0; i < devices; ++i) devices_.push_back(std::make_unique<Device>());
}

RealEngines::~RealEngines() {
  {
    MutexLock lock(mutex_);
    while (schedule_.unfinished() > 0) any_finished_.wait(mutex_);
    stopping_ = true;
    for (const auto& device : devices_) {
      for (Condition& ready : device->ready) ready.notify_all();
    }
  }
  for (const auto& device : devices_) {
    for (std::thread& thread : device->threads) {
      if (thread.joinable()) thread.join();
    }
  }
}

void RealEngines::pass(Nanoseconds time) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(time.value()));
}

Status RealEngines::prepare(DeviceId device, SimEngine engine) {
  std::thread& thread = devices_[device.value()]->threads[static_cast<std::size_t>(engine)];
  if (thread.joinable()) return {};
  const Status started = start_thread(thread, [this, device, engine] { run_engine(device, engine); });
  if (started.is_ok()) return {};
  return {Code::kOutOfMemory,
          fmt::format("no thread for an engine of device {}: {}", device.value(), started.message()),
          native::kOutOfMemory};
}

void RealEngines::run_engine(DeviceId device, SimEngine engine) {
  block_signals_of_the_program();
  const auto index = static_cast<std::size_t>(engine);
  pthread_setname_np(pthread_self(),
                     fmt::format("sim{}-{}", device.value(), kEngineNames[index]).c_str());
  Device& own = *devices_[device.value()];
  MutexLock lock(mutex_);
  while (true) {
    const SimOp op = schedule_.start(device, engine);
    if (op == SimOp()) {
      if (stopping_) return;
      own.ready[index].wait(mutex_);
      continue;
    }
    carry_out(device, op);
    retire(op);
    any_finished_.notify_all();
    wake_waiters();
  }
}

void RealEngines::carry_out(DeviceId device, SimOp op) {
  const Nanoseconds until = clock_.now() + work(op).time;
  run(device, op);
  const Nanoseconds now = clock_.now();
  if (now >= until) return;
  mutex_.unlock();
  std::this_thread::sleep_for(std::chrono::nanoseconds((until - now).value()));
  mutex_.lock();
}

void RealEngines::start_ready() {
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    for (std::size_t i = 0; i < kSimEngines; ++i) {
      if (schedule_.has_ready(DeviceId(device), static_cast<SimEngine>(i))) {
        devices_[device]->ready[i].notify_one();
      }
    }
  }
}

void RealEngines::await_progress() { any_finished_.wait(mutex_); }

void RealEngines::await(SimOp op) {
  const auto awaited = awaited_.insert(op);
  while (!schedule_.is_finished(op)) awaited_finished_.wait(mutex_);
  awaited_.erase(awaited);
}

// Waking a thread costs a tenth of a page's copy: only those whose operation is over, or the marker
// behind it.
void RealEngines::wake_waiters() {
  for (const SimOp op : awaited_) {
    if (schedule_.is_finished(op)) return awaited_finished_.notify_all();
  }
}

}  // namespace tessera
