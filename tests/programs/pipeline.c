/* Two streams that pass on chunks of a data set: one prepares the next chunk while the other computes.
 *
 * Usage: pipeline --kernels FILE [--steps N] [--chunks N] [--rows N] [--width N] [--offload BYTES]. Each step processes
 * all chunks, which stay in device memory:
 *
 *   prepare: n = tanh(n), y = x + n      compute: x = y + tanh(y W)
 *
 * n is noise; y passes through one of two slots; events make each stream wait for its inputs. Prints a digest of the
 * last chunk after each step, the peak of allocated device memory, and the time per step.
 */
#include "workload.h"

#define MOST_CHUNKS 1024
#define SLOTS 2

static int steps = 2, chunks = 48, rows = 2048, width = 512;
static struct buffer data[MOST_CHUNKS];
static struct slot {
  CUdeviceptr prepared;
  CUevent filled, emptied;
} slots[SLOTS];
static CUdeviceptr weight, bias, noise, product;
static CUfunction linear, tanh_residual;
static CUstream prepare, compute;

static void make_data(void) {
  const size_t bytes = floats(rows, width);
  float* staging;
  CHECK(cuMemHostAlloc((void**)&staging, bytes + floats(width, width), 0));
  for (int c = 0; c < chunks; ++c) {
    make_buffer(&data[c], bytes);
    fill_random(staging, bytes, 1.0f);
    CHECK(cuMemcpyHtoDAsync(data[c].at, staging, bytes, compute));
    CHECK(cuStreamSynchronize(compute)); /* staging is used again */
    put_away(&data[c], 1);
  }
  for (int i = 0; i < SLOTS; ++i) {
    slots[i].prepared = allocate(bytes);
    CHECK(cuEventCreate(&slots[i].filled, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&slots[i].emptied, CU_EVENT_DISABLE_TIMING));
  }
  weight = allocate(floats(width, width));
  bias = allocate(floats(1, width));
  noise = allocate(bytes);
  product = allocate(bytes);
  fill_random(staging, floats(width, width), 0.02f);
  CHECK(cuMemcpyHtoDAsync(weight, staging, floats(width, width), compute));
  CHECK(cuMemsetD32Async(bias, 0, (size_t)width, compute));
  CHECK(cuStreamSynchronize(compute));
  CHECK(cuMemFreeHost(staging));
}

static void step(float* host_noise) {
  const size_t bytes = floats(rows, width);
  const int count = rows * width;
  CHECK(cuStreamSynchronize(prepare)); /* the noise of the last step was sent */
  fill_random(host_noise, bytes, 0.1f);
  CHECK(cuMemcpyHtoDAsync(noise, host_noise, bytes, prepare));
  for (int c = 0; c < chunks; ++c) {
    struct slot* const slot = &slots[c % SLOTS];
    bring(&data[c]);
    CHECK(cuStreamWaitEvent(prepare, slot->emptied, 0));
    launch_elementwise(tanh_residual, slot->prepared, noise, data[c].at, count, prepare);
    CHECK(cuEventRecord(slot->filled, prepare));
    CHECK(cuStreamWaitEvent(compute, slot->filled, 0));
    launch_linear(linear, product, slot->prepared, weight, bias, rows, width, width, compute);
    launch_elementwise(tanh_residual, data[c].at, product, slot->prepared, count, compute);
    CHECK(cuEventRecord(slot->emptied, compute));
    put_away(&data[c], 1);
  }
}

static void tell(int number, float* host) {
  struct buffer* const last = &data[chunks - 1];
  bring(last);
  CHECK(cuMemcpyDtoHAsync(host, last->at, last->bytes, compute));
  CHECK(cuStreamSynchronize(compute));
  put_away(last, 0);
  printf("step %d digest %016llx\n", number, (unsigned long long)digest(host, last->bytes));
}

int main(int argc, char** argv) {
  const struct number numbers[] = {{"--steps", &steps, 1, 1 << 20},
                                   {"--chunks", &chunks, 1, MOST_CHUNKS},
                                   {"--rows", &rows, 4, 1 << 20},
                                   {"--width", &width, 32, 16384}};
  const struct kernel kernels[] = {{"linear", &linear}, {"tanh_residual", &tanh_residual}};
  float *host_noise, *host;
  program_name = "pipeline";
  read_numbers(argc, argv, numbers, sizeof(numbers) / sizeof(numbers[0]));
  allow_offload(offload_bytes, floats(width, width) + (SLOTS + 3) * floats(rows, width) + LEAST_MOVED);
  const CUdevice device = open_device();
  CHECK(cuStreamCreate(&prepare, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
  LOAD_KERNELS(kernels_path, kernels);
  make_data();
  CHECK(cuMemHostAlloc((void**)&host_noise, floats(rows, width), 0));
  CHECK(cuMemHostAlloc((void**)&host, floats(rows, width), 0));
  const double start = seconds();
  for (int i = 1; i <= steps; ++i) {
    step(host_noise);
    tell(i, host);
  }
  report((seconds() - start) / steps);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
