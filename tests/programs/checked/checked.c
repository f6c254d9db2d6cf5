/* Built with AddressSanitizer. Uses more memory than the device has.
 *
 * Usage: checked [overflow]. Prints "ok" if every block has the contents that it was set to. With "overflow" it first
 * writes past the end of an allocation of its own, which the sanitizer has to detect.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define BLOCKS 12
#define COUNT (1 << 20)

int main(int argc, char** argv) {
  CUcontext context;
  CUdeviceptr block[BLOCKS];
  int right = 1;
  open_device(&context);
  for (int i = 0; i < BLOCKS; ++i) {
    CHECK(cuMemAlloc(&block[i], COUNT * sizeof(int)));
    CHECK(cuMemsetD32(block[i], (unsigned)i, COUNT));
  }
  if (argc > 1 && strcmp(argv[1], "overflow") == 0) {
    char* volatile own = (char*)malloc(16);
    own[16] = 1;
    free(own);
  }
  for (int i = 0; i < BLOCKS; ++i) right &= block_holds(block[i], COUNT, i, i);
  for (int i = 0; i < BLOCKS; ++i) CHECK(cuMemFree(block[i]));
  puts(right ? "ok" : "wrong");
  return right ? 0 : 1;
}
