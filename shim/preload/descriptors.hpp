// Descriptors of ours never have the number of a standard stream that the program was started without
// (alloc/base/descriptor.hpp says why).
//
// Thread safety: any thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

// Takes `descriptor` over. -1 with errno when there is none, also for -1.
inline int off_standard_streams(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int kept = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return kept;
}
