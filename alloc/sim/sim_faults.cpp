#include "sim/sim_faults.hpp"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/atomic_max.hpp"

namespace tessera {
namespace {

struct Guard {
  sigjmp_buf resume;
  SimFault fault;
  sigset_t mask;  // of the thread before the handler ran
};

// In a signal handler the first access to a thread-local could allocate, so guarding threads are found there by their
// system thread id.
struct Slot {
  std::atomic<pid_t> thread{0};  // 0: free
  std::atomic<Guard*> guard{nullptr};
};
constexpr std::size_t kMaxGuards = 1024;
Slot slots[kMaxGuards];
std::atomic<std::size_t> slots_used{0};  // all slots beyond were never used

// A thread's slot, from its first guarded call to its end.
class OwnSlot {
 public:
  OwnSlot() {
    const pid_t self = gettid();
    for (std::size_t i = 0; i < kMaxGuards; ++i) {
      pid_t nobody = 0;
      if (!slots[i].thread.compare_exchange_strong(nobody, self)) continue;
      slot_ = &slots[i];
      raise_to(slots_used, i + 1);
      return;
    }
  }
  ~OwnSlot() {
    if (slot_ != nullptr) slot_->thread.store(0);
  }
  OwnSlot(const OwnSlot&) = delete;
  OwnSlot& operator=(const OwnSlot&) = delete;

  // Null when there are too many threads: a fault then stays a fault.
  Slot* get() const { return slot_; }

 private:
  Slot* slot_ = nullptr;
};

Slot* slot_of_this_thread() {
  const pid_t self = gettid();
  const std::size_t used = slots_used.load();
  const auto slot = std::find_if(slots, slots + used, [self](const Slot& s) { return s.thread.load() == self; });
  return slot == slots + used ? nullptr : slot;
}

struct sigaction handler_before[2];  // SIGSEGV, SIGBUS; written once, before the handler can run

void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = handler_before[signal == SIGBUS ? 1 : 0];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
    return;
  }
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
    return;
  }
  if (before.sa_handler == SIG_IGN && info->si_code <= 0) return;
  // The default action: the faulting instruction runs again and ends the process as without this handler. A signal
  // sent by a process does not recur by itself.
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  sigaction(signal, &normal, nullptr);
  if (info->si_code <= 0) raise(signal);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Slot* const slot = slot_of_this_thread();
  Guard* const guard = slot == nullptr ? nullptr : slot->guard.load();
  // A code of 0 or less means that a process sent the signal.
  if (guard == nullptr || info->si_code <= 0) {
    pass_on(signal, info, context);
    return;
  }
  guard->fault = {signal, reinterpret_cast<std::uint64_t>(info->si_addr)};
  guard->mask = static_cast<const ucontext_t*>(context)->uc_sigmask;
  slot->guard.store(nullptr);
  siglongjmp(guard->resume, 1);
}

void install_handler() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, nullptr, &handler_before[0]);
  sigaction(SIGBUS, nullptr, &handler_before[1]);
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

std::optional<SimFault> run_guarded(void (*function)(void*), void* argument) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  thread_local const OwnSlot own;
  Slot* const slot = own.get();
  Guard guard;
  // Saving the signal mask here would cost a system call per launch; the handler gets it anyway.
  if (sigsetjmp(guard.resume, 0) != 0) {
    pthread_sigmask(SIG_SETMASK, &guard.mask, nullptr);
    return guard.fault;
  }
  if (slot != nullptr) slot->guard.store(&guard);
  function(argument);
  if (slot != nullptr) slot->guard.store(nullptr);
  return std::nullopt;
}

}  // namespace tessera
