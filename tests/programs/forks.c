/* Forks while it is working: one child exits, one executes another program.
 *
 * Prints "ok" if its memory is unchanged and both children ended normally.
 */
#define _POSIX_C_SOURCE 200809L
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define COUNT (1 << 20)

static int ended_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void) {
  static unsigned host[COUNT];
  CUcontext context;
  CUdeviceptr block[16];
  open_device(&context);
  for (unsigned i = 0; i < 16; ++i) {
    CHECK(cuMemAlloc(&block[i], sizeof(host)));
    CHECK(cuMemsetD32(block[i], i, COUNT));
  }
  fflush(stdout);
  const pid_t quiet = fork();
  if (quiet == 0) exit(0); /* with all exit handlers */
  const pid_t other = fork();
  if (other == 0) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  if (!ended_well(quiet) || !ended_well(other)) return 1;
  for (unsigned i = 0; i < 16; ++i) {
    CHECK(cuMemcpyDtoH(host, block[i], sizeof(host)));
    for (int n = 0; n < COUNT; ++n) {
      if (host[n] != i) return 1;
    }
  }
  puts("ok");
  return 0;
}
