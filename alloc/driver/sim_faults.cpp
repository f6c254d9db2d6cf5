#include "driver/sim_faults.hpp"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <mutex>

namespace tessera {
namespace {

struct Guard {
  sigjmp_buf resume;
  SimFault fault;
  sigset_t mask;  // of the thread before the handler ran
};

// Read in a signal handler, where the first touch of an ordinary thread-local could allocate; eight
// bytes of static TLS are always to be had.
[[gnu::tls_model("initial-exec")]] thread_local Guard* guard_of_this_thread = nullptr;

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
  // The default action: the faulting instruction runs again and ends the process as it would have
  // without us. A signal that somebody sent does not come back by itself.
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  sigaction(signal, &normal, nullptr);
  if (info->si_code <= 0) raise(signal);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Guard* const guard = guard_of_this_thread;
  // A code of 0 or less is a signal that somebody sent.
  if (guard == nullptr || info->si_code <= 0) {
    pass_on(signal, info, context);
    return;
  }
  guard->fault = {signal, reinterpret_cast<std::uint64_t>(info->si_addr)};
  guard->mask = static_cast<const ucontext_t*>(context)->uc_sigmask;
  guard_of_this_thread = nullptr;
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
  Guard guard;
  // The signal mask is not saved here, which would cost a system call per launch; the handler knows
  // it.
  if (sigsetjmp(guard.resume, 0) != 0) {
    pthread_sigmask(SIG_SETMASK, &guard.mask, nullptr);
    return guard.fault;
  }
  guard_of_this_thread = &guard;
  function(argument);
  guard_of_this_thread = nullptr;
  return std::nullopt;
}

}  // namespace tessera
