// While this object lives, a failing write of the calling thread only returns an error. It raises no SIGPIPE
// when the reader is gone and no SIGXFSZ at a limit on file size; either would end the host program.
//
// Thread safety: affects the calling thread; objects on one thread are destroyed in reverse order of
// construction.
#pragma once

#include <csignal>

namespace tessera {

class QuietSignals {
 public:
  QuietSignals();
  // Consumes the signals that writes raised meanwhile; signals that were pending before stay pending.
  ~QuietSignals();
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t before_;
  sigset_t ours_;
};

}  // namespace tessera
