// Starts a thread, with failure reported as a Status.
//
// std::thread throws if it cannot start, which would propagate out of the program's own call. Callers go on
// without the thread.
//
// Thread safety: stateless.
#pragma once

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.hpp"

namespace tessera {

// Blocks all signals in the new thread except faults: the program's signals are for its own threads. REQUIRES:
// `thread` is not running. Errors: kBusy, for too many threads or no memory for the stack.
template <class Body>
Status start_thread(std::thread& thread, Body&& body) {
  sigset_t signals, before;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&signals, fault);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  Status started;
  try {
    thread = std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    started = {Code::kBusy, error.what()};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace tessera
