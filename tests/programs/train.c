/* Trains a deep residual network with Adam on made-up data, through the driver API alone.
 *
 *   h[0] = x W_in + b,   h[l+1] = h[l] + tanh(h[l] W[l] + b[l]),   logits = h[L] W_out + b
 *
 * Softmax cross-entropy over 32 classes; the data are noisy copies of one prototype for each class,
 * from a seeded generator, so the loss falls. All sums have one order: two runs on one device give
 * the same bits. Prints each step's loss, the most device memory that was allocated at once, and the
 * time of a step; --losses FILE gets the losses as hexadecimal floats. On an error it prints the call
 * and CUDA's name for it, and exits with 1.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INPUTS 256
#define CLASSES 32
#define MOST_LAYERS 256

struct options {
  const char* kernels;
  const char* losses;
  int steps, layers, width, batch;
  size_t occupy;
};

/* One linear layer: its weights and its bias, each with two moments, and a gradient while it lasts. */
struct tensor {
  CUdeviceptr value, first, second, gradient;
  int count;
};
struct layer {
  int inner, columns;
  struct tensor weight, bias;
};

static struct options options = {.steps = 8, .layers = 20, .width = 1024, .batch = 256};
static struct layer layers[MOST_LAYERS + 2]; /* in, the hidden ones, out */
static CUdeviceptr hidden[MOST_LAYERS + 1], act[MOST_LAYERS];
static CUstream compute, upload;
static CUfunction linear, weight_gradient, input_gradient, bias_gradient, tanh_residual,
    tanh_gradient, softmax_loss, adam;
static size_t live_bytes, peak_bytes;

static void check(CUresult result, const char* call) {
  const char* name = "unknown error";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  fflush(stdout);
  fprintf(stderr, "train: %s: %s\n", call, name);
  exit(1);
}
#define CHECK(call) check(call, #call)

static void fail(const char* what, const char* which) {
  fprintf(stderr, "train: %s %s\n", what, which);
  exit(2);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr address;
  CHECK(cuMemAlloc(&address, bytes));
  live_bytes += bytes;
  if (live_bytes > peak_bytes) peak_bytes = live_bytes;
  return address;
}

static CUdeviceptr allocate_floats(int rows, int columns) {
  return allocate((size_t)rows * (size_t)columns * sizeof(float));
}

static void release(CUdeviceptr* address, int rows, int columns) {
  CHECK(cuMemFree(*address));
  live_bytes -= (size_t)rows * (size_t)columns * sizeof(float);
  *address = 0;
}

/* ---- made-up data ------------------------------------------------------------------------------ */

static uint64_t seed = 20260101;

static uint32_t random_bits(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33);
}

/* Between -1 and 1. */
static float random_float(void) { return (float)random_bits() * (2.0f / 2147483648.0f) - 1.0f; }

static void make_batch(float* inputs, int* labels) {
  static float prototypes[CLASSES][INPUTS];
  static int made = 0;
  if (!made) {
    for (int c = 0; c < CLASSES; ++c)
      for (int i = 0; i < INPUTS; ++i) prototypes[c][i] = 0.3f * random_float();
    made = 1;
  }
  for (int row = 0; row < options.batch; ++row) {
    labels[row] = (int)(random_bits() % CLASSES);
    for (int i = 0; i < INPUTS; ++i)
      inputs[row * INPUTS + i] = prototypes[labels[row]][i] + random_float();
  }
}

/* ---- kernels ----------------------------------------------------------------------------------- */

static unsigned parts(int count, int each) { return (unsigned)((count + each - 1) / each); }

/* x threads by y threads, in blocks of block_x by block_y. */
static void launch(CUfunction function, unsigned x, unsigned y, unsigned block_x, unsigned block_y,
                   void** parameters) {
  CHECK(cuLaunchKernel(function, (x + block_x - 1) / block_x, (y + block_y - 1) / block_y, 1, block_x,
                       block_y, 1, 0, compute, parameters, NULL));
}

static void run_linear(CUdeviceptr out, CUdeviceptr in, struct layer* l) {
  void* p[] = {&out, &in, &l->weight.value, &l->bias.value, &options.batch, &l->inner, &l->columns};
  launch(linear, parts(l->columns, 32), parts(options.batch, 4), 8, 8, p);
}

static void run_elementwise(CUfunction function, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) {
  int count = options.batch * options.width;
  void* p[] = {&a, &b, &c, &count};
  launch(function, parts(count, 32), 1, 64, 1, p);
}

/* Gradients of one layer's weights and bias, in new buffers; then of its input, if one is wanted. */
static void run_backward(struct layer* l, CUdeviceptr in, CUdeviceptr delta, CUdeviceptr out,
                         CUdeviceptr add) {
  l->weight.gradient = allocate_floats(l->inner, l->columns);
  l->bias.gradient = allocate_floats(1, l->columns);
  void* w[] = {&l->weight.gradient, &in, &delta, &options.batch, &l->inner, &l->columns};
  launch(weight_gradient, parts(l->columns, 32), parts(l->inner, 4), 8, 8, w);
  void* b[] = {&l->bias.gradient, &delta, &options.batch, &l->columns};
  launch(bias_gradient, parts(l->columns, 32), 1, 32, 1, b);
  if (out == 0) return;
  void* i[] = {&out, &delta, &l->weight.value, &add, &options.batch, &l->inner, &l->columns};
  launch(input_gradient, parts(l->inner, 4), parts(options.batch, 4), 8, 8, i);
}

static void run_adam(struct tensor* t, int rows, int columns, float rate) {
  float epsilon = 1e-8f;
  void* p[] = {&t->value, &t->first, &t->second, &t->gradient, &rate, &epsilon, &t->count};
  launch(adam, parts(t->count, 32), 1, 256, 1, p);
  release(&t->gradient, rows, columns);
}

/* ---- the network ------------------------------------------------------------------------------- */

static void make_tensor(struct tensor* t, int rows, int columns, float scale, float* staging) {
  size_t bytes = (size_t)rows * (size_t)columns * sizeof(float);
  t->count = rows * columns;
  t->value = allocate(bytes);
  t->first = allocate(bytes);
  t->second = allocate(bytes);
  for (int i = 0; i < t->count; ++i) staging[i] = scale * random_float();
  CHECK(cuMemcpyHtoDAsync(t->value, staging, bytes, compute));
  CHECK(cuMemsetD32Async(t->first, 0, (size_t)t->count, compute));
  CHECK(cuMemsetD32Async(t->second, 0, (size_t)t->count, compute));
  CHECK(cuStreamSynchronize(compute)); /* staging is used again */
}

static void make_layer(struct layer* l, int inner, int columns, float scale, float* staging) {
  l->inner = inner;
  l->columns = columns;
  make_tensor(&l->weight, inner, columns, scale, staging);
  make_tensor(&l->bias, 1, columns, 0.0f, staging);
}

static void make_network(void) {
  int width = options.width;
  int largest = width > INPUTS ? width : INPUTS;
  float* staging;
  CHECK(cuMemHostAlloc((void**)&staging, (size_t)largest * (size_t)largest * sizeof(float), 0));
  make_layer(&layers[0], INPUTS, width, 0.1f, staging);
  for (int l = 1; l <= options.layers; ++l) make_layer(&layers[l], width, width, 0.02f, staging);
  make_layer(&layers[options.layers + 1], width, CLASSES, 0.02f, staging);
  CHECK(cuMemFreeHost(staging));
}

/* ---- one step ---------------------------------------------------------------------------------- */

struct batch {
  float* host_inputs; /* pinned */
  int* host_labels;
  CUdeviceptr inputs, labels;
  CUevent uploaded, used;
};

static void make_buffers(struct batch* b) {
  CHECK(cuMemHostAlloc((void**)&b->host_inputs, (size_t)options.batch * INPUTS * sizeof(float), 0));
  CHECK(cuMemHostAlloc((void**)&b->host_labels, (size_t)options.batch * sizeof(int), 0));
  b->inputs = allocate_floats(options.batch, INPUTS);
  b->labels = allocate((size_t)options.batch * sizeof(int));
  CHECK(cuEventCreate(&b->uploaded, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&b->used, CU_EVENT_DISABLE_TIMING));
}

/* Makes a batch and sends it on the upload stream, once the step that used the buffers is over. */
static void send_batch(struct batch* b) {
  CHECK(cuEventSynchronize(b->uploaded));
  make_batch(b->host_inputs, b->host_labels);
  CHECK(cuStreamWaitEvent(upload, b->used, 0));
  CHECK(cuMemcpyHtoDAsync(b->inputs, b->host_inputs, (size_t)options.batch * INPUTS * sizeof(float),
                          upload));
  CHECK(cuMemcpyHtoDAsync(b->labels, b->host_labels, (size_t)options.batch * sizeof(int), upload));
  CHECK(cuEventRecord(b->uploaded, upload));
}

static void forward(struct batch* b, CUdeviceptr logits) {
  hidden[0] = allocate_floats(options.batch, options.width);
  run_linear(hidden[0], b->inputs, &layers[0]);
  for (int l = 0; l < options.layers; ++l) {
    act[l] = allocate_floats(options.batch, options.width);
    hidden[l + 1] = allocate_floats(options.batch, options.width);
    run_linear(act[l], hidden[l], &layers[l + 1]);
    run_elementwise(tanh_residual, hidden[l + 1], act[l], hidden[l]);
  }
  run_linear(logits, hidden[options.layers], &layers[options.layers + 1]);
}

static void backward(struct batch* b, CUdeviceptr delta_logits) {
  int rows = options.batch, width = options.width, last = options.layers;
  CUdeviceptr upstream = allocate_floats(rows, width), delta = allocate_floats(rows, width);
  run_backward(&layers[last + 1], hidden[last], delta_logits, upstream, 0);
  release(&hidden[last], rows, width);
  for (int l = last - 1; l >= 0; --l) {
    run_elementwise(tanh_gradient, delta, upstream, act[l]);
    run_backward(&layers[l + 1], hidden[l], delta, upstream, upstream);
    release(&act[l], rows, width);
    release(&hidden[l], rows, width);
  }
  run_backward(&layers[0], b->inputs, upstream, 0, 0);
  release(&upstream, rows, width);
  release(&delta, rows, width);
}

static void update(int step) {
  double first = 1.0, second = 1.0;
  for (int i = 0; i < step; ++i) {
    first *= 0.9;
    second *= 0.999;
  }
  /* The rate with Adam's bias corrections; a square root by Newton's steps needs no libm. */
  double root = 1.0;
  for (int i = 0; i < 60; ++i) root = 0.5 * (root + (1.0 - second) / root);
  float rate = (float)(1e-4 * root / (1.0 - first));
  for (int l = 0; l <= options.layers + 1; ++l) {
    run_adam(&layers[l].weight, layers[l].inner, layers[l].columns, rate);
    run_adam(&layers[l].bias, 1, layers[l].columns, rate);
  }
}

/* `losses` is pinned: one float for each row. */
static float train_step(int step, struct batch* b, float* losses) {
  int rows = options.batch, classes = CLASSES;
  double sum = 0.0;
  CUdeviceptr logits = allocate_floats(rows, classes), delta = allocate_floats(rows, classes);
  CUdeviceptr loss = allocate_floats(rows, 1);
  CHECK(cuStreamWaitEvent(compute, b->uploaded, 0));
  forward(b, logits);
  void* p[] = {&delta, &loss, &logits, &b->labels, &rows, &classes};
  launch(softmax_loss, (unsigned)rows, 1, 64, 1, p);
  CHECK(cuMemcpyDtoHAsync(losses, loss, (size_t)rows * sizeof(float), compute));
  backward(b, delta);
  CHECK(cuEventRecord(b->used, compute));
  update(step);
  release(&logits, rows, classes);
  release(&delta, rows, classes);
  release(&loss, rows, 1);
  CHECK(cuStreamSynchronize(compute));
  for (int row = 0; row < rows; ++row) sum += (double)losses[row];
  return (float)(sum / rows);
}

/* ---- the program ------------------------------------------------------------------------------- */

static void load_kernels(void) {
  static const struct {
    const char* name;
    CUfunction* function;
  } wanted[] = {{"linear", &linear},
                {"weight_gradient", &weight_gradient},
                {"input_gradient", &input_gradient},
                {"bias_gradient", &bias_gradient},
                {"tanh_residual", &tanh_residual},
                {"tanh_gradient", &tanh_gradient},
                {"softmax_loss", &softmax_loss},
                {"adam", &adam}};
  CUmodule module;
  long bytes = 0;
  FILE* file = fopen(options.kernels, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) <= 0) {
    fail("cannot read", options.kernels);
  }
  char* image = calloc((size_t)bytes + 1, 1);
  rewind(file);
  if (image == NULL || fread(image, 1, (size_t)bytes, file) != (size_t)bytes) {
    fail("cannot read", options.kernels);
  }
  fclose(file);
  CHECK(cuModuleLoadData(&module, image));
  for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); ++i) {
    CHECK(cuModuleGetFunction(wanted[i].function, module, wanted[i].name));
  }
  free(image);
}

static void read_options(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--kernels") == 0) options.kernels = argv[i + 1];
    else if (strcmp(argv[i], "--losses") == 0) options.losses = argv[i + 1];
    else if (strcmp(argv[i], "--steps") == 0) options.steps = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--layers") == 0) options.layers = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--width") == 0) options.width = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--batch") == 0) options.batch = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--occupy") == 0) options.occupy = strtoull(argv[i + 1], NULL, 10);
    else fail("unknown option", argv[i]);
  }
  if (argc % 2 == 0) fail("no value for", argv[argc - 1]);
  if (options.kernels == NULL) fail("missing", "--kernels FILE");
  if (options.steps < 1) fail("must be at least 1:", "--steps");
  if (options.layers < 1 || options.layers > MOST_LAYERS) fail("must be 1 to 256:", "--layers");
  if (options.width < 32 || options.width > 16384 || options.width % 32 != 0) {
    fail("must be a multiple of 32, 32 to 16384:", "--width");
  }
  if (options.batch < 4 || options.batch > 65536 || options.batch % 4 != 0) {
    fail("must be a multiple of 4, 4 to 65536:", "--batch");
  }
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  CUdevice device;
  CUcontext context;
  CUdeviceptr ballast;
  struct batch batches[2];
  float* losses;
  FILE* file = NULL;

  read_options(argc, argv);
  if (options.losses != NULL && (file = fopen(options.losses, "w")) == NULL) {
    fail("cannot write", options.losses);
  }
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&upload, CU_STREAM_NON_BLOCKING));
  load_kernels();
  if (options.occupy > 0) CHECK(cuMemAlloc(&ballast, options.occupy));
  CHECK(cuMemHostAlloc((void**)&losses, (size_t)options.batch * sizeof(float), 0));
  make_network();
  for (int i = 0; i < 2; ++i) make_buffers(&batches[i]);

  send_batch(&batches[0]);
  double start = seconds();
  for (int step = 1; step <= options.steps; ++step) {
    if (step < options.steps) send_batch(&batches[step % 2]); /* the next one, meanwhile */
    float loss = train_step(step, &batches[(step - 1) % 2], losses);
    printf("step %d loss %.6f\n", step, (double)loss);
    if (file != NULL && fprintf(file, "%a\n", (double)loss) < 0) fail("cannot write", options.losses);
  }
  double each = (seconds() - start) / options.steps;
  if (file != NULL && fclose(file) != 0) fail("cannot write", options.losses);
  printf("live peak %zu bytes\n", peak_bytes);
  printf("%.4f seconds per step\n", each);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
