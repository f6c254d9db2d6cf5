/* Uses more memory than its device holds, reports it, and ends in the way named by its argument:
 *
 *   wait           waits for a signal
 *   busy           keeps using its blocks
 *   handler        has a SIGTERM handler that exits with 7
 *   chained        has a SIGTERM handler that then runs the default action
 *   _exit, quick   ends by _exit(3), quick_exit(3)
 *   vfork          has a vfork child that ends by _exit, then ends normally
 *
 * Prints "ready" once it has used its blocks. It ends by SIGALRM if no signal comes within 15 minutes, so that a test
 * that was killed leaves none behind.
 */
#define _DEFAULT_SOURCE
#include <cuda.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 12
#define BYTES (2 << 20)

static CUdeviceptr block[BLOCKS];

static void use_all(void) {
  for (unsigned i = 0; i < BLOCKS; ++i) CHECK(cuMemsetD32(block[i], i, BYTES / 4));
}

static void end_with_seven(int number) {
  (void)number;
  _exit(7);
}

static void end_by_default(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

int main(int argc, char** argv) {
  CUcontext context;
  const char* const way = argc > 1 ? argv[1] : "";
  open_device(&context);
  for (unsigned i = 0; i < BLOCKS; ++i) CHECK(cuMemAlloc(&block[i], BYTES));
  use_all();
  if (strcmp(way, "handler") == 0) signal(SIGTERM, end_with_seven);
  if (strcmp(way, "chained") == 0) signal(SIGTERM, end_by_default);
  alarm(15 * 60);
  puts("ready");
  fflush(stdout);
  if (strcmp(way, "_exit") == 0) _exit(3);
  if (strcmp(way, "quick") == 0) quick_exit(3);
  if (strcmp(way, "vfork") == 0) {
    int status = 0;
    const pid_t child = vfork();
    if (child == 0) _exit(5);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 5) return 1;
    use_all();
    return 0;
  }
  while (strcmp(way, "busy") == 0) use_all();
  while (1) pause();
}
