/* Trains a deep residual network with Adam on synthetic data, using only the driver API.
 *
 *   h[0] = x W_in + b,   h[l+1] = h[l] + tanh(h[l] W[l] + b[l]),   logits = h[L] W_out + b
 *
 * Softmax cross-entropy over 32 classes; the data are noisy copies of one prototype per class, from a seeded generator,
 * so the loss decreases. All sums have a fixed order: two runs on one device give the same bits. Prints each step's
 * loss, the peak of allocated device memory, and the time per step; --losses FILE gets the losses as hexadecimal
 * floats. On an error it prints the call and CUDA's name for it, and exits with 1.
 */
#include "workload.h"

#define INPUTS 256
#define CLASSES 32
#define MOST_LAYERS 256

struct options {
  const char* kernels;
  const char* losses;
  int steps, layers, width, batch;
  size_t occupy, offload;
};

/* One linear layer: its weights and its bias, each with two moments, and a temporary gradient. */
struct tensor {
  struct buffer value, first, second, gradient;
  int count;
};
struct layer {
  int inner, columns;
  struct tensor weight, bias;
};

static struct options options = {.steps = 8, .layers = 20, .width = 1024, .batch = 256};
static struct layer layers[MOST_LAYERS + 2]; /* in, the hidden ones, out */
static struct buffer hidden[MOST_LAYERS + 1], act[MOST_LAYERS], upstream, delta;
static CUstream compute, upload;
static CUfunction linear, weight_gradient, input_gradient, bias_gradient, tanh_residual, tanh_gradient, softmax_loss,
    adam;

/* ---- made-up data ------------------------------------------------------------------------------
 */

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
    for (int i = 0; i < INPUTS; ++i) inputs[row * INPUTS + i] = prototypes[labels[row]][i] + random_float();
  }
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

static void run_linear(CUdeviceptr out, CUdeviceptr in, struct layer* l) {
  bring(&l->weight.value);
  launch_linear(linear, out, in, l->weight.value.at, l->bias.value.at, options.batch, l->inner, l->columns, compute);
  put_away(&l->weight.value, 0);
}

static void run_elementwise(CUfunction function, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) {
  launch_elementwise(function, a, b, c, options.batch * options.width, compute);
}

/* Gradients of one layer's weights and bias, in new buffers; then of its input, if requested. */
static void run_backward(struct layer* l, CUdeviceptr in, CUdeviceptr delta_at, CUdeviceptr out, CUdeviceptr add) {
  struct buffer *weights = &l->weight.gradient, *biases = &l->bias.gradient;
  make_buffer(weights, floats(l->inner, l->columns));
  make_buffer(biases, floats(1, l->columns));
  void* w[] = {&weights->at, &in, &delta_at, &options.batch, &l->inner, &l->columns};
  launch(weight_gradient, parts(l->columns, 32), parts(l->inner, 4), 8, 8, compute, w);
  void* b[] = {&biases->at, &delta_at, &options.batch, &l->columns};
  launch(bias_gradient, parts(l->columns, 32), 1, 32, 1, compute, b);
  put_away(weights, 1);
  if (out == 0) return;
  bring(&l->weight.value);
  void* i[] = {&out, &delta_at, &l->weight.value.at, &add, &options.batch, &l->inner, &l->columns};
  launch(input_gradient, parts(l->inner, 4), parts(options.batch, 4), 8, 8, compute, i);
  put_away(&l->weight.value, 0);
}

static void run_adam(struct tensor* t, float rate) {
  float epsilon = 1e-8f;
  struct buffer* const used[] = {&t->value, &t->first, &t->second, &t->gradient};
  for (int i = 0; i < 4; ++i) bring(used[i]);
  void* p[] = {&t->value.at, &t->first.at, &t->second.at, &t->gradient.at, &rate, &epsilon, &t->count};
  launch(adam, parts(t->count, 32), 1, 256, 1, compute, p);
  for (int i = 0; i < 3; ++i) put_away(used[i], 1);
  drop_buffer(&t->gradient);
}

/* ---- the network -------------------------------------------------------------------------------
 */

static void make_tensor(struct tensor* t, int rows, int columns, float scale, float* staging) {
  const size_t bytes = floats(rows, columns);
  struct buffer* const made[] = {&t->value, &t->first, &t->second};
  t->count = rows * columns;
  for (int i = 0; i < 3; ++i) make_buffer(made[i], bytes);
  fill_random(staging, bytes, scale);
  CHECK(cuMemcpyHtoDAsync(t->value.at, staging, bytes, compute));
  CHECK(cuMemsetD32Async(t->first.at, 0, (size_t)t->count, compute));
  CHECK(cuMemsetD32Async(t->second.at, 0, (size_t)t->count, compute));
  CHECK(cuStreamSynchronize(compute)); /* staging is used again */
  for (int i = 0; i < 3; ++i) put_away(made[i], 1);
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
  CHECK(cuMemHostAlloc((void**)&staging, floats(largest, largest), 0));
  make_layer(&layers[0], INPUTS, width, 0.1f, staging);
  for (int l = 1; l <= options.layers; ++l) make_layer(&layers[l], width, width, 0.02f, staging);
  make_layer(&layers[options.layers + 1], width, CLASSES, 0.02f, staging);
  CHECK(cuMemFreeHost(staging));
}

/* A hidden layer's backward pass, or its update, with the buffers needed at the same time. */
static size_t largest_phase(void) {
  const size_t weight = floats(options.width, options.width), rows = floats(options.batch, options.width);
  const size_t back = 2 * weight + 4 * rows, step = 4 * weight;
  return (back > step ? back : step) + 3 * floats(options.batch, INPUTS) + 4 * LEAST_MOVED;
}

/* ---- one step ----------------------------------------------------------------------------------
 */

struct batch {
  float* host_inputs; /* pinned */
  int* host_labels;
  CUdeviceptr inputs, labels;
  CUevent uploaded, used;
};

static void make_buffers(struct batch* b) {
  CHECK(cuMemHostAlloc((void**)&b->host_inputs, floats(options.batch, INPUTS), 0));
  CHECK(cuMemHostAlloc((void**)&b->host_labels, (size_t)options.batch * sizeof(int), 0));
  b->inputs = allocate(floats(options.batch, INPUTS));
  b->labels = allocate((size_t)options.batch * sizeof(int));
  CHECK(cuEventCreate(&b->uploaded, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&b->used, CU_EVENT_DISABLE_TIMING));
}

/* Makes a batch and sends it on the upload stream, once the step that used the buffers is over. */
static void send_batch(struct batch* b) {
  CHECK(cuEventSynchronize(b->uploaded));
  make_batch(b->host_inputs, b->host_labels);
  CHECK(cuStreamWaitEvent(upload, b->used, 0));
  CHECK(cuMemcpyHtoDAsync(b->inputs, b->host_inputs, floats(options.batch, INPUTS), upload));
  CHECK(cuMemcpyHtoDAsync(b->labels, b->host_labels, (size_t)options.batch * sizeof(int), upload));
  CHECK(cuEventRecord(b->uploaded, upload));
}

static void forward(struct batch* b, CUdeviceptr logits) {
  const size_t bytes = floats(options.batch, options.width);
  make_buffer(&hidden[0], bytes);
  run_linear(hidden[0].at, b->inputs, &layers[0]);
  for (int l = 0; l < options.layers; ++l) {
    make_buffer(&act[l], bytes);
    run_linear(act[l].at, hidden[l].at, &layers[l + 1]);
    make_buffer(&hidden[l + 1], bytes);
    run_elementwise(tanh_residual, hidden[l + 1].at, act[l].at, hidden[l].at);
    put_away(&act[l], 1);
    put_away(&hidden[l], 1);
  }
  run_linear(logits, hidden[options.layers].at, &layers[options.layers + 1]);
}

static void backward(struct batch* b, CUdeviceptr delta_logits) {
  const size_t bytes = floats(options.batch, options.width);
  const int last = options.layers;
  make_buffer(&upstream, bytes);
  make_buffer(&delta, bytes);
  run_backward(&layers[last + 1], hidden[last].at, delta_logits, upstream.at, 0);
  drop_buffer(&hidden[last]);
  for (int l = last - 1; l >= 0; --l) {
    bring(&act[l]);
    run_elementwise(tanh_gradient, delta.at, upstream.at, act[l].at);
    bring(&hidden[l]);
    run_backward(&layers[l + 1], hidden[l].at, delta.at, upstream.at, upstream.at);
    drop_buffer(&act[l]);
    drop_buffer(&hidden[l]);
  }
  run_backward(&layers[0], b->inputs, upstream.at, 0, 0);
  drop_buffer(&upstream);
  drop_buffer(&delta);
}

static void update(int step) {
  double first = 1.0, second = 1.0;
  for (int i = 0; i < step; ++i) {
    first *= 0.9;
    second *= 0.999;
  }
  /* The rate with Adam's bias corrections; computing the square root by Newton steps avoids libm. */
  double root = 1.0;
  for (int i = 0; i < 60; ++i) root = 0.5 * (root + (1.0 - second) / root);
  float rate = (float)(1e-4 * root / (1.0 - first));
  for (int l = 0; l <= options.layers + 1; ++l) {
    run_adam(&layers[l].weight, rate);
    run_adam(&layers[l].bias, rate);
  }
}

/* `losses` is pinned: one float per row. */
static float train_step(int step, struct batch* b, float* losses) {
  int rows = options.batch, classes = CLASSES;
  double sum = 0.0;
  CUdeviceptr logits = allocate(floats(rows, classes)), change = allocate(floats(rows, classes));
  CUdeviceptr loss = allocate(floats(rows, 1));
  CHECK(cuStreamWaitEvent(compute, b->uploaded, 0));
  forward(b, logits);
  void* p[] = {&change, &loss, &logits, &b->labels, &rows, &classes};
  launch(softmax_loss, (unsigned)rows, 1, 64, 1, compute, p);
  CHECK(cuMemcpyDtoHAsync(losses, loss, floats(rows, 1), compute));
  backward(b, change);
  CHECK(cuEventRecord(b->used, compute));
  update(step);
  release(&logits, floats(rows, classes));
  release(&change, floats(rows, classes));
  release(&loss, floats(rows, 1));
  CHECK(cuStreamSynchronize(compute));
  for (int row = 0; row < rows; ++row) sum += (double)losses[row];
  return (float)(sum / rows);
}

/* ---- the program -------------------------------------------------------------------------------
 */

static const struct kernel kKernels[] = {{"linear", &linear},
                                         {"weight_gradient", &weight_gradient},
                                         {"input_gradient", &input_gradient},
                                         {"bias_gradient", &bias_gradient},
                                         {"tanh_residual", &tanh_residual},
                                         {"tanh_gradient", &tanh_gradient},
                                         {"softmax_loss", &softmax_loss},
                                         {"adam", &adam}};

static void read_options(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--kernels") == 0)
      options.kernels = argv[i + 1];
    else if (strcmp(argv[i], "--losses") == 0)
      options.losses = argv[i + 1];
    else if (strcmp(argv[i], "--steps") == 0)
      options.steps = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--layers") == 0)
      options.layers = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--width") == 0)
      options.width = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--batch") == 0)
      options.batch = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--occupy") == 0)
      options.occupy = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--offload") == 0)
      options.offload = strtoull(argv[i + 1], NULL, 10);
    else
      fail("unknown option", argv[i]);
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

int main(int argc, char** argv) {
  CUdeviceptr ballast;
  struct batch batches[2];
  float* losses;
  FILE* file = NULL;

  program_name = "train";
  read_options(argc, argv);
  allow_offload(options.offload, largest_phase());
  if (options.losses != NULL && (file = fopen(options.losses, "w")) == NULL) {
    fail("cannot write", options.losses);
  }
  const CUdevice device = open_device();
  CHECK(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&upload, CU_STREAM_NON_BLOCKING));
  LOAD_KERNELS(options.kernels, kKernels);
  if (options.occupy > 0) CHECK(cuMemAlloc(&ballast, options.occupy));
  CHECK(cuMemHostAlloc((void**)&losses, floats(options.batch, 1), 0));
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
  report(each);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
