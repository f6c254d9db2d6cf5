/* Uses more memory than the device has, and then checks its file descriptors: none of 0, 1 and 2 was opened since the
 * start, and all descriptors opened by libraries are closed on exec.
 *
 * Exit code: 0, or 10 and above for a failed check, as standard error may be closed.
 */
#define _POSIX_C_SOURCE 200809L
#include <cuda.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define COUNT (1 << 20)
#define BLOCKS 16

static int is_open(int descriptor) { return fcntl(descriptor, F_GETFD) != -1; }

/* A file that is read and closed at once may briefly have any number. */
static int stays_open(int descriptor) {
  const struct timespec pause = {0, 10000000};
  for (int k = 0; k < 1000 && is_open(descriptor); ++k) nanosleep(&pause, NULL);
  return is_open(descriptor);
}

/* The first descriptor above 2 that an executed program would inherit, or 0. Descriptors given to this process are
 * excluded. */
static int inherited(const char* given) {
  int found = 0;
  DIR* const folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    const int descriptor = atoi(entry->d_name);
    if (descriptor <= 2 || descriptor == dirfd(folder) || (descriptor < 256 && given[descriptor])) continue;
    const int flags = fcntl(descriptor, F_GETFD);
    if (flags != -1 && (flags & FD_CLOEXEC) == 0 && stays_open(descriptor)) found = descriptor;
  }
  if (folder != NULL) closedir(folder);
  return found;
}

int main(void) {
  static char given[256];
  for (int k = 0; k < 256; ++k) given[k] = (char)is_open(k);
  CUcontext context;
  CUdeviceptr block[BLOCKS];
  open_device(&context);
  for (int k = 0; k < BLOCKS; ++k) {
    CHECK(cuMemAlloc(&block[k], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[k], (unsigned)k, COUNT));
  }
  for (int k = 0; k < BLOCKS; ++k) {
    if (!block_holds(block[k], COUNT, k, k)) return 10;
  }
  for (int k = 0; k < 3; ++k) {
    if (!given[k] && stays_open(k)) return 11 + k;
  }
  return inherited(given) == 0 ? 0 : 20;
}
