/* The cost of a launch for the launching thread: sixteen addresses among many live blocks.
 *
 * Usage: launch_cost KERNELS BLOCKS ROUNDS. Prints three lines of nanoseconds per launch, the median over the rounds of
 * the thread's own processor time, after as many launches as are recorded for a program that is not short of memory:
 * "refused", a launch of no threads, which the driver only checks; "numbers", the same with two addresses and a struct
 * of 500 bytes of numbers; and "queued", a launch of one thread, without waiting for it.
 */
#define _POSIX_C_SOURCE 200809L
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define POINTERS 16
#define REFUSED 5000
#define QUEUED 200
#define NOTED (1 << 17)

#define DIVIDERS 25

/* As in PyTorch's index calculators. */
struct calculator {
  int dims;
  unsigned sizes[DIVIDERS][3]; /* divisor, multiplier, shift */
  unsigned strides[DIVIDERS][2];
};

static CUdeviceptr target[POINTERS];
static struct calculator calculator;
static CUfunction sixteen, add_calculated;
static CUstream stream;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static CUresult launch(unsigned threads) {
  void* parameters[POINTERS];
  for (int i = 0; i < POINTERS; ++i) parameters[i] = &target[i];
  return cuLaunchKernel(sixteen, threads, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static double refused(void) {
  const double start = now();
  for (int i = 0; i < REFUSED; ++i) {
    if (launch(0) == CUDA_SUCCESS) exit(1);
  }
  return (now() - start) / REFUSED;
}

static void fill_calculator(void) {
  calculator.dims = 3;
  for (unsigned i = 0; i < DIVIDERS; ++i) {
    const unsigned divisor = i < 3 ? 7 + 40 * i : 1;
    unsigned shift = 0;
    while ((1ull << shift) < divisor) ++shift;
    calculator.sizes[i][0] = divisor;
    calculator.sizes[i][1] = (unsigned)(((1ull << 32) * ((1ull << shift) - divisor)) / divisor + 1);
    calculator.sizes[i][2] = shift;
    calculator.strides[i][0] = calculator.strides[i][1] = i < 3 ? 4u << i : 0;
  }
}

static double numbers(void) {
  void* parameters[] = {&target[0], &target[1], &calculator};
  const double start = now();
  for (int i = 0; i < REFUSED; ++i) {
    if (cuLaunchKernel(add_calculated, 0, 1, 1, 1, 1, 1, 0, stream, parameters, NULL) == CUDA_SUCCESS) exit(1);
  }
  return (now() - start) / REFUSED;
}

static void settle(void) {
  for (int i = 0; i < NOTED; ++i) {
    if (launch(0) == CUDA_SUCCESS) exit(1);
  }
}

static double queued(void) {
  const double start = now();
  for (int i = 0; i < QUEUED; ++i) CHECK(launch(1));
  const double spent = (now() - start) / QUEUED;
  CHECK(cuStreamSynchronize(stream));
  return spent;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void measure(const char* name, double (*cost)(void), int rounds) {
  double* const seen = malloc((size_t)rounds * sizeof(double));
  (void)cost();
  for (int i = 0; i < rounds; ++i) seen[i] = cost();
  qsort(seen, (size_t)rounds, sizeof(double), ascending);
  printf("%s %.1f\n", name, seen[rounds / 2]);
  free(seen);
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  if (argc != 4) {
    fprintf(stderr, "usage: launch_cost KERNELS BLOCKS ROUNDS\n");
    return 2;
  }
  const int blocks = atoi(argv[2]), rounds = atoi(argv[3]);
  open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&sixteen, module, "sixteen"));
  CHECK(cuModuleGetFunction(&add_calculated, module, "add_calculated"));
  fill_calculator();
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < blocks; ++i) {
    CUdeviceptr made;
    CHECK(cuMemAlloc(&made, 512));
    target[(long)i * POINTERS / blocks] = made;
  }
  settle();
  measure("refused", refused, rounds);
  measure("numbers", numbers, rounds);
  measure("queued", queued, rounds);
  return 0;
}
