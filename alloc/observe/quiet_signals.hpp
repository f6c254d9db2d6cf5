// While it lives, a write of the calling thread is answered by an error alone: not by SIGPIPE where the reader has gone
// away, nor by SIGXFSZ at a limit on file size. Either would end the program that we are a guest of.
//
// Thread safety: for the calling thread; those of one thread end in the reverse order of their beginning.
#pragma once

#include <csignal>

namespace tessera {

class QuietSignals {
 public:
  QuietSignals();
  // What a write has brought about is taken away; what was pending before stays.
  ~QuietSignals();
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t before_;
  sigset_t ours_;
};

}  // namespace tessera
