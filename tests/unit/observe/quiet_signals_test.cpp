#include "observe/quiet_signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tessera {
namespace {

bool is_pending(int number) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, number) == 1;
}

bool is_blocked(int number) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, number) == 1;
}

TEST(QuietSignals, AWriteToAClosedPipeIsOnlyAnError) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[0]);
  {
    const QuietSignals quiet;
    EXPECT_EQ(::write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
  }
  EXPECT_FALSE(is_pending(SIGPIPE));
  EXPECT_FALSE(is_blocked(SIGPIPE) || is_blocked(SIGXFSZ));
  ::close(ends[1]);
}

TEST(QuietSignals, KeepsPendingSignalsOfTheProgram) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  ::raise(SIGPIPE);
  { const QuietSignals quiet; }
  EXPECT_TRUE(is_pending(SIGPIPE));
  EXPECT_TRUE(is_blocked(SIGPIPE));
  const timespec now{};
  EXPECT_EQ(sigtimedwait(&pipe, nullptr, &now), SIGPIPE);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace tessera
