// Starting a thread where none may be had.
//
// std::thread throws then, out of a call of the program's; whoever needs a thread goes on without it.
//
// Thread safety: stateless.
#pragma once

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.hpp"

namespace tessera {

// The program's signals are for its own threads: none of them comes to this one, but faults. REQUIRES: `thread` runs
// nothing. Errors: kBusy, as with too many threads or no memory for its stack.
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
