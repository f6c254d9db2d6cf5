/* Fills four blocks and waits for a line on standard input; then the blocks must be unchanged.
 *
 * Prints its process id when the blocks are filled, and "ok" at the end.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 4
#define BYTES ((size_t)4 << 20)

int main(void) {
  CUcontext context;
  CUdeviceptr blocks[BLOCKS];
  char line[16];
  unsigned char* bytes = malloc(BYTES);
  if (bytes == NULL) return 1;
  open_device(&context);
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&blocks[i], BYTES));
    memset(bytes, i + 1, BYTES);
    CHECK(cuMemcpyHtoD(blocks[i], bytes, BYTES));
  }
  printf("%d\n", (int)getpid());
  fflush(stdout);
  if (fgets(line, sizeof(line), stdin) == NULL) return 1;
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemcpyDtoH(bytes, blocks[i], BYTES));
    for (size_t at = 0; at < BYTES; ++at) {
      if (bytes[at] != i + 1) return 1;
    }
  }
  puts("ok");
  free(bytes);
  return 0;
}
