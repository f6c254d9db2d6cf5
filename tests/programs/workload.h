/* Code shared by the measured programs: termination on errors, counted memory, kernels, random numbers, and explicit
 * offload, so that Tessera can be compared with a program that moves its memory itself.
 *
 * Explicit offload (--offload BYTES, the device memory that the program may fill): buffers that do not all fit are
 * moved out after each phase that used them and brought back before the next one, by copies that the program waits for.
 * The first ones that fit beside the largest phase stay. Without --offload every buffer stays where it is, and the two
 * calls do nothing.
 *
 * Thread safety: one thread; each program includes this once.
 */
#ifndef TESSERA_PROGRAMS_WORKLOAD_H
#define TESSERA_PROGRAMS_WORKLOAD_H

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Smaller buffers are not worth a move. */
#define LEAST_MOVED ((size_t)1 << 20)

static const char* program_name = "workload";
static size_t live_bytes, peak_bytes;

static inline void check(CUresult result, const char* call) {
  const char* name = "unknown error";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  fflush(stdout);
  fprintf(stderr, "%s: %s: %s\n", program_name, call, name);
  exit(1);
}
#define CHECK(call) check(call, #call)

static inline void fail(const char* what, const char* which) {
  fprintf(stderr, "%s: %s %s\n", program_name, what, which);
  exit(2);
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static inline CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr address;
  CHECK(cuMemAlloc(&address, bytes));
  live_bytes += bytes;
  if (live_bytes > peak_bytes) peak_bytes = live_bytes;
  return address;
}

static inline void release(CUdeviceptr* address, size_t bytes) {
  CHECK(cuMemFree(*address));
  live_bytes -= bytes;
  *address = 0;
}

static inline size_t floats(int rows, int columns) { return (size_t)rows * (size_t)columns * sizeof(float); }

/* ---- explicit offload --------------------------------------------------------------------------
 */

static int offloads;      /* whether --offload was given */
static size_t stay_limit; /* bytes of buffers that may stay on the device between phases */
static size_t stay_bytes;

/* Zero before its first use. */
struct buffer {
  CUdeviceptr at; /* 0 while it is away */
  void* host;     /* pinned; once it was needed it is kept, for the buffer made here next too */
  size_t bytes;
  int stays, saved; /* saved: `host` has its bytes */
};

/* `phase` is the maximum that one phase needs besides the resident buffers. */
static inline void allow_offload(size_t device_bytes, size_t phase) {
  offloads = device_bytes > 0;
  stay_limit = device_bytes > phase ? device_bytes - phase : 0;
}

static inline void make_buffer(struct buffer* b, size_t bytes) {
  b->at = allocate(bytes);
  b->bytes = bytes;
  b->saved = 0;
  b->stays = !offloads || bytes < LEAST_MOVED || stay_bytes + bytes <= stay_limit;
  if (b->stays) stay_bytes += bytes;
}

static inline void drop_buffer(struct buffer* b) {
  if (b->at != 0) release(&b->at, b->bytes);
  if (b->stays) stay_bytes -= b->bytes;
}

/* Call before a phase that uses the buffer. */
static inline void bring(struct buffer* b) {
  if (b->at != 0) return;
  CHECK(cuCtxSynchronize());
  b->at = allocate(b->bytes);
  CHECK(cuMemcpyHtoD(b->at, b->host, b->bytes));
}

/* Call after that phase. A buffer unchanged since it was brought in still has its bytes in host memory. */
static inline void put_away(struct buffer* b, int changed) {
  if (b->stays || b->at == 0) return;
  CHECK(cuCtxSynchronize());
  if (b->host == NULL) CHECK(cuMemHostAlloc(&b->host, b->bytes, 0));
  if (changed || !b->saved) CHECK(cuMemcpyDtoH(b->host, b->at, b->bytes));
  b->saved = 1;
  release(&b->at, b->bytes);
}

/* ---- numbers -----------------------------------------------------------------------------------
 */

static uint64_t seed = 20260101;

static inline uint32_t random_bits(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33);
}

/* Between -1 and 1. */
static inline float random_float(void) { return (float)random_bits() * (2.0f / 2147483648.0f) - 1.0f; }

static inline void fill_random(float* values, size_t bytes, float scale) {
  for (size_t i = 0; i < bytes / sizeof(float); ++i) values[i] = scale * random_float();
}

static inline double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* An order-independent sum of the bits: equal results have equal sums. */
static inline uint64_t digest(const void* data, size_t bytes) {
  const uint32_t* const words = data;
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes / sizeof(*words); ++i) sum += words[i] * (2654435761u + (uint64_t)i);
  return sum;
}

/* ---- options -----------------------------------------------------------------------------------
 */

/* A whole number from `least` to `most`, and a multiple of `least`. */
struct number {
  const char* name;
  int* value;
  int least, most;
};

static const char* kernels_path;
static size_t offload_bytes;

/* --kernels FILE, --offload BYTES, and numbers. */
static inline void read_numbers(int argc, char** argv, const struct number* numbers, size_t count) {
  for (int i = 1; i + 1 < argc; i += 2) {
    size_t n = 0;
    while (n < count && strcmp(argv[i], numbers[n].name) != 0) ++n;
    if (n < count)
      *numbers[n].value = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--kernels") == 0)
      kernels_path = argv[i + 1];
    else if (strcmp(argv[i], "--offload") == 0)
      offload_bytes = strtoull(argv[i + 1], NULL, 10);
    else
      fail("unknown option", argv[i]);
  }
  if (argc % 2 == 0) fail("no value for", argv[argc - 1]);
  if (kernels_path == NULL) fail("missing", "--kernels FILE");
  for (size_t n = 0; n < count; ++n) {
    const int value = *numbers[n].value;
    if (value < numbers[n].least || value > numbers[n].most || value % numbers[n].least != 0) {
      fail("too small, too large or no multiple:", numbers[n].name);
    }
  }
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* By its name in the file. */
struct kernel {
  const char* name;
  CUfunction* function;
};

static inline void load_kernels(const char* path, const struct kernel* wanted, size_t count) {
  CUmodule module;
  long bytes = 0;
  FILE* const file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) <= 0) {
    fail("cannot read", path);
  }
  char* const image = calloc((size_t)bytes + 1, 1);
  rewind(file);
  if (image == NULL || fread(image, 1, (size_t)bytes, file) != (size_t)bytes) {
    fail("cannot read", path);
  }
  fclose(file);
  CHECK(cuModuleLoadData(&module, image));
  for (size_t i = 0; i < count; ++i) {
    CHECK(cuModuleGetFunction(wanted[i].function, module, wanted[i].name));
  }
  free(image);
}

#define LOAD_KERNELS(path, wanted) load_kernels(path, wanted, sizeof(wanted) / sizeof((wanted)[0]))

static inline unsigned parts(int count, int each) { return (unsigned)((count + each - 1) / each); }

/* x threads by y threads, in blocks of block_x by block_y. */
static inline void launch(CUfunction function, unsigned x, unsigned y, unsigned block_x, unsigned block_y,
                          CUstream stream, void** parameters) {
  CHECK(cuLaunchKernel(function, (x + block_x - 1) / block_x, (y + block_y - 1) / block_y, 1, block_x, block_y, 1, 0,
                       stream, parameters, NULL));
}

/* out[rows x columns] = in[rows x inner] * weight[inner x columns] + bias[columns] */
static inline void launch_linear(CUfunction linear, CUdeviceptr out, CUdeviceptr in, CUdeviceptr weight,
                                 CUdeviceptr bias, int rows, int inner, int columns, CUstream stream) {
  void* p[] = {&out, &in, &weight, &bias, &rows, &inner, &columns};
  launch(linear, parts(columns, 32), parts(rows, 4), 8, 8, stream, p);
}

/* An elementwise kernel over three arrays of `count` floats, such as tanh_residual. */
static inline void launch_elementwise(CUfunction function, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, int count,
                                      CUstream stream) {
  void* p[] = {&a, &b, &c, &count};
  launch(function, parts(count, 32), 1, 64, 1, stream, p);
}

/* Opens the device and makes its primary context current. */
static inline CUdevice open_device(void) {
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  return device;
}

/* The final output of every program, in the format that its readers parse. */
static inline void report(double each) {
  printf("live peak %zu bytes\n", peak_bytes);
  printf("%.4f seconds per step\n", each);
}

#endif
