/* Inference: batches pass through layers that are read repeatedly, and never change.
 *
 *   h[l+1] = h[l] + tanh(h[l] W[l] + b)
 *
 * Usage: infer --kernels FILE [--steps N] [--layers N] [--width N] [--batch N] [--offload BYTES]. Each step is one
 * batch from host memory through all layers and back. Prints a digest of each step's outputs, the peak of allocated
 * device memory, and the time per step.
 */
#include "workload.h"

#define MOST_LAYERS 256

static int steps = 3, layers = 32, width = 1024, batch = 1024;
static struct buffer weight[MOST_LAYERS];
static CUdeviceptr bias, states[2], product;
static CUfunction linear, tanh_residual;
static CUstream compute;

static void make_layers(void) {
  const size_t bytes = floats(width, width);
  float* staging;
  CHECK(cuMemHostAlloc((void**)&staging, bytes, 0));
  for (int l = 0; l < layers; ++l) {
    make_buffer(&weight[l], bytes);
    fill_random(staging, bytes, 0.02f);
    CHECK(cuMemcpyHtoDAsync(weight[l].at, staging, bytes, compute));
    CHECK(cuStreamSynchronize(compute)); /* staging is used again */
    put_away(&weight[l], 1);
  }
  CHECK(cuMemFreeHost(staging));
  bias = allocate(floats(1, width));
  CHECK(cuMemsetD32Async(bias, 0, (size_t)width, compute));
  for (int i = 0; i < 2; ++i) states[i] = allocate(floats(batch, width));
  product = allocate(floats(batch, width));
}

/* `host` contains the inputs before and the outputs after. */
static void step(float* host) {
  const size_t bytes = floats(batch, width);
  CHECK(cuMemcpyHtoDAsync(states[0], host, bytes, compute));
  for (int l = 0; l < layers; ++l) {
    bring(&weight[l]);
    launch_linear(linear, product, states[l % 2], weight[l].at, bias, batch, width, width, compute);
    launch_elementwise(tanh_residual, states[(l + 1) % 2], product, states[l % 2], batch * width, compute);
    put_away(&weight[l], 0);
  }
  CHECK(cuMemcpyDtoHAsync(host, states[layers % 2], bytes, compute));
  CHECK(cuStreamSynchronize(compute));
}

int main(int argc, char** argv) {
  const struct number numbers[] = {{"--steps", &steps, 1, 1 << 20},
                                   {"--layers", &layers, 1, MOST_LAYERS},
                                   {"--width", &width, 32, 16384},
                                   {"--batch", &batch, 4, 65536}};
  const struct kernel kernels[] = {{"linear", &linear}, {"tanh_residual", &tanh_residual}};
  float* host;
  program_name = "infer";
  read_numbers(argc, argv, numbers, sizeof(numbers) / sizeof(numbers[0]));
  allow_offload(offload_bytes, floats(width, width) + 3 * floats(batch, width) + LEAST_MOVED);
  const CUdevice device = open_device();
  CHECK(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
  LOAD_KERNELS(kernels_path, kernels);
  make_layers();
  CHECK(cuMemHostAlloc((void**)&host, floats(batch, width), 0));
  const double start = seconds();
  for (int i = 1; i <= steps; ++i) {
    fill_random(host, floats(batch, width), 1.0f);
    step(host);
    printf("step %d digest %016llx\n", i, (unsigned long long)digest(host, floats(batch, width)));
  }
  report((seconds() - start) / steps);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
