#include "observe/quiet_signals.hpp"

#include <pthread.h>

#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace tessera {

QuietSignals::QuietSignals() {
  sigset_t pending;
  sigpending(&pending);
  sigemptyset(&ours_);
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    if (sigismember(&pending, number) == 0) sigaddset(&ours_, number);
  }
  pthread_sigmask(SIG_BLOCK, &ours_, &before_);
}

QuietSignals::~QuietSignals() {
  const int error = errno;
  const timespec now{};
  while (sigtimedwait(&ours_, nullptr, &now) > 0) continue;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace tessera
