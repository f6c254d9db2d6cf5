#include "base/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tessera {

int away_from_standard(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int kept = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return kept;
}

}  // namespace tessera
