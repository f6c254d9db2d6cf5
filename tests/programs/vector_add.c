/* The smallest program that computes on the device: c = a + b.
 *
 * Usage: vector_add KERNELS, a file for cuModuleLoadData. Prints "ok" if all sums are right; otherwise prints the call
 * that failed and CUDA's name for the error, and exits with 1.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define COUNT 100000

int main(int argc, char** argv) {
  static float a[COUNT], b[COUNT], sum[COUNT];
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction add;
  CUdeviceptr device_a, device_b, device_sum;
  int count = COUNT;
  void* parameters[] = {&device_sum, &device_a, &device_b, &count};

  if (argc != 2) {
    fprintf(stderr, "usage: vector_add KERNELS\n");
    return 2;
  }
  for (int i = 0; i < COUNT; ++i) {
    a[i] = (float)i;
    b[i] = 2.0f * (float)i;
  }
  device = open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&add, module, "vector_add"));
  CHECK(cuMemAlloc(&device_a, sizeof(a)));
  CHECK(cuMemAlloc(&device_b, sizeof(b)));
  CHECK(cuMemAlloc(&device_sum, sizeof(sum)));
  CHECK(cuMemcpyHtoD(device_a, a, sizeof(a)));
  CHECK(cuMemcpyHtoD(device_b, b, sizeof(b)));
  CHECK(cuLaunchKernel(add, (COUNT + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuMemcpyDtoH(sum, device_sum, sizeof(sum)));
  for (int i = 0; i < COUNT; ++i) {
    if (sum[i] != a[i] + b[i]) {
      fprintf(stderr, "element %d is %g, not %g\n", i, (double)sum[i], (double)(a[i] + b[i]));
      return 1;
    }
  }
  CHECK(cuMemFree(device_a));
  CHECK(cuMemFree(device_b));
  CHECK(cuMemFree(device_sum));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  puts("ok");
  return 0;
}
