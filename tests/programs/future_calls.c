/* Functions of a future CUDA, which the software device has on request.
 *
 * Usage: future_calls. Looks up functions for version 99.0 as the CUDA runtime does at start. Then calls, twice each, a
 * function that takes no address, one that takes a pointer to an address, and one that older versions have in another
 * form, with resident blocks; the numbers in these are compared. Prints "ok" or what failed.
 */
#include <cuda.h>
#include <stdio.h>

#include "check.h"

#define COUNT 4096

struct fill {
  CUdeviceptr to;
  size_t count;
  unsigned value;
};

static CUresult (*fill_line)(const struct fill*, CUstream);
static CUresult (*fill_with_flags)(CUdeviceptr, unsigned, size_t, CUstream, unsigned);
static CUresult (*sum_up)(double*, int, double, long, float, long, long, long, long);

static void* future(const char* name) {
  void* found = NULL;
  CHECK(cuGetProcAddress(name, &found, 99000, CU_GET_PROC_ADDRESS_DEFAULT, NULL));
  if (found == NULL) {
    fprintf(stderr, "%s is missing\n", name);
    exit(1);
  }
  return found;
}

/* Static, so that they are not on the stack next to `sum`, where they would be taken for its contents. */
static CUdeviceptr block;
static struct fill fill;

int main(void) {
  CUcontext context;
  double sum = 0;
  CHECK(cuInit(0));
  fill_line = (CUresult(*)(const struct fill*, CUstream))future("cuSoftwareFillAsync");
  fill_with_flags = (CUresult(*)(CUdeviceptr, unsigned, size_t, CUstream, unsigned))future("cuMemsetD32Async");
  sum_up = (CUresult(*)(double*, int, double, long, float, long, long, long, long))future("cuSoftwareSumUp");
  if (future("cuMemAlloc") != future("cuMemAlloc") || (void*)fill_line != future("cuSoftwareFillAsync")) return 1;
  open_device(&context);
  CHECK(cuMemAlloc(&block, COUNT * sizeof(int)));
  for (int round = 1; round <= 2; ++round) {
    fill = (struct fill){block, COUNT / 2, (unsigned)round};
    CHECK(sum_up(&sum, 1, 2.0, 3, 4.0F, 5, 6, 7, 8));
    if (sum != 36) {
      fprintf(stderr, "the sum is %g\n", sum);
      return 1;
    }
    CHECK(fill_line(&fill, NULL));
    CHECK(fill_with_flags(block + COUNT / 2 * sizeof(int), (unsigned)round, COUNT / 2, NULL, 0));
    CHECK(cuCtxSynchronize());
    if (!block_holds(block, COUNT, 0, round)) return 1;
  }
  puts("ok");
  return 0;
}
