/* Messages along a random walk over a partitioned graph: accesses without any period.
 *
 * Usage: graph_walk --kernels FILE [--steps N] [--partitions N] [--rows N] [--width N] [--offload BYTES]. A few
 * partitions have many neighbours, as in web graphs: neighbours are drawn with a bias towards the first partitions. A
 * step at partition p takes the message of a neighbour q,
 *
 *   x[p] = x[p] + tanh(x[q] W + b)
 *
 * and moves on to q, or occasionally to any partition. Prints a digest of every partition at the end, the peak of
 * allocated device memory, and the time per step.
 */
#include "workload.h"

#define MOST_PARTITIONS 1024
#define NEIGHBOURS 8
#define JUMP_ONE_IN 8

static int steps = 160, partitions = 64, rows = 2048, width = 512;
static struct buffer states[MOST_PARTITIONS];
static int neighbours[MOST_PARTITIONS][NEIGHBOURS];
static CUdeviceptr weight, bias, message;
static CUfunction linear, tanh_residual;
static CUstream compute;

/* The first partitions are more likely: the square of a number below one. */
static int draw_partition(void) {
  const double part = (double)random_bits() / 2147483648.0;
  return (int)(part * part * partitions);
}

static void make_graph(void) {
  const size_t bytes = floats(rows, width);
  float* staging;
  CHECK(cuMemHostAlloc((void**)&staging, bytes + floats(width, width), 0));
  for (int p = 0; p < partitions; ++p) {
    make_buffer(&states[p], bytes);
    fill_random(staging, bytes, 1.0f);
    CHECK(cuMemcpyHtoDAsync(states[p].at, staging, bytes, compute));
    CHECK(cuStreamSynchronize(compute)); /* staging is used again */
    put_away(&states[p], 1);
    for (int n = 0; n < NEIGHBOURS; ++n) neighbours[p][n] = draw_partition();
  }
  weight = allocate(floats(width, width));
  bias = allocate(floats(1, width));
  message = allocate(bytes);
  fill_random(staging, floats(width, width), 0.02f);
  CHECK(cuMemcpyHtoDAsync(weight, staging, floats(width, width), compute));
  CHECK(cuMemsetD32Async(bias, 0, (size_t)width, compute));
  CHECK(cuStreamSynchronize(compute));
  CHECK(cuMemFreeHost(staging));
}

static int step(int p) {
  const int q = neighbours[p][random_bits() % NEIGHBOURS];
  bring(&states[q]);
  launch_linear(linear, message, states[q].at, weight, bias, rows, width, width, compute);
  if (q != p) put_away(&states[q], 0);
  bring(&states[p]);
  launch_elementwise(tanh_residual, states[p].at, message, states[p].at, rows * width, compute);
  put_away(&states[p], 1);
  return random_bits() % JUMP_ONE_IN == 0 ? (int)(random_bits() % (unsigned)partitions) : q;
}

static void tell(void) {
  const size_t bytes = floats(rows, width);
  uint64_t sum = 0;
  float* host;
  CHECK(cuMemHostAlloc((void**)&host, bytes, 0));
  for (int p = 0; p < partitions; ++p) {
    bring(&states[p]);
    CHECK(cuMemcpyDtoHAsync(host, states[p].at, bytes, compute));
    CHECK(cuStreamSynchronize(compute));
    put_away(&states[p], 0);
    sum = 31 * sum + digest(host, bytes);
  }
  printf("digest %016llx\n", (unsigned long long)sum);
}

int main(int argc, char** argv) {
  const struct number numbers[] = {{"--steps", &steps, 1, 1 << 20},
                                   {"--partitions", &partitions, 1, MOST_PARTITIONS},
                                   {"--rows", &rows, 4, 1 << 20},
                                   {"--width", &width, 32, 16384}};
  const struct kernel kernels[] = {{"linear", &linear}, {"tanh_residual", &tanh_residual}};
  program_name = "graph_walk";
  read_numbers(argc, argv, numbers, sizeof(numbers) / sizeof(numbers[0]));
  allow_offload(offload_bytes, floats(width, width) + 3 * floats(rows, width) + LEAST_MOVED);
  const CUdevice device = open_device();
  CHECK(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
  LOAD_KERNELS(kernels_path, kernels);
  make_graph();
  const double start = seconds();
  for (int i = 0, at = 0; i < steps; ++i) at = step(at);
  CHECK(cuStreamSynchronize(compute));
  const double each = (seconds() - start) / steps;
  tell();
  report(each);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
