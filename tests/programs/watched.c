/* Fills four blocks and waits for a line on standard input; then the blocks must hold what they held.
 *
 * Prints its process id when the blocks are filled, and "ok" at the end.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 4
#define BYTES ((size_t)4 << 20)

static void must(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "CUDA error %d\n", (int)result);
  exit(1);
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUdeviceptr blocks[BLOCKS];
  char line[16];
  unsigned char* bytes = malloc(BYTES);
  if (bytes == NULL) return 1;
  must(cuInit(0));
  must(cuDeviceGet(&device, 0));
  must(cuDevicePrimaryCtxRetain(&context, device));
  must(cuCtxSetCurrent(context));
  for (int i = 0; i < BLOCKS; ++i) {
    must(cuMemAlloc(&blocks[i], BYTES));
    memset(bytes, i + 1, BYTES);
    must(cuMemcpyHtoD(blocks[i], bytes, BYTES));
  }
  printf("%d\n", (int)getpid());
  fflush(stdout);
  if (fgets(line, sizeof(line), stdin) == NULL) return 1;
  for (int i = 0; i < BLOCKS; ++i) {
    must(cuMemcpyDtoH(bytes, blocks[i], BYTES));
    for (size_t at = 0; at < BYTES; ++at) {
      if (bytes[at] != i + 1) return 1;
    }
  }
  puts("ok");
  free(bytes);
  return 0;
}
