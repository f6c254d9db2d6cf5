#include "base/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace tessera {
namespace {

TEST(Descriptor, AnOrdinaryNumberStays) {
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GT(file, STDERR_FILENO);
  EXPECT_EQ(away_from_standard(file), file);
  ::close(file);
}

TEST(Descriptor, AFileInThePlaceOfAStandardStreamGetsAnotherNumber) {
  const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(STDIN_FILENO);
  const int opened = ::open("/dev/null", O_RDONLY);
  const int moved = away_from_standard(opened);
  const bool stream_is_closed = ::fcntl(STDIN_FILENO, F_GETFD) == -1;
  if (kept >= 0) ::dup2(kept, STDIN_FILENO);
  EXPECT_EQ(opened, STDIN_FILENO);
  EXPECT_GT(moved, STDERR_FILENO);
  EXPECT_TRUE(stream_is_closed);
  EXPECT_EQ(::fcntl(moved, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  ::close(moved);
  if (kept >= 0) ::close(kept);
}

TEST(Descriptor, AFailedCallKeepsItsReason) {
  errno = ENOENT;
  EXPECT_EQ(away_from_standard(-1), -1);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace tessera
