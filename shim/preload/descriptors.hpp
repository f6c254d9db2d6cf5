// File descriptors opened by this library never take the number of a standard stream that the program was started
// without (see alloc/base/descriptor.hpp for the reason).
//
// Thread safety: any thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

// Takes ownership of `descriptor` and moves it above the standard streams. -1 with errno on failure, and for -1.
inline int off_standard_streams(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int kept = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return kept;
}
