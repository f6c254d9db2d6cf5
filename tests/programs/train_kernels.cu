// The kernels of train.c: a residual network with tanh, softmax cross-entropy, and Adam.
//
// One source for both kinds of devices: nvcc compiles it to a fatbin, the host compiler to an object for the software
// device. Matrices are row-major. Each thread computes a tile, so that its inner loop runs along contiguous memory; all
// sums have a fixed order, so that a run is reproducible bit by bit.
//
// REQUIRES: columns and inner are multiples of 32, rows of 4. The host ensures this.
//
// Thread safety: each element is written by one thread.
#define SOFTCUDA_LARGE_KERNELS
#include "softcuda_kernel.hpp"

#define TILE_ROWS 4
#define TILE_COLUMNS 32
#define LANES 16
#define RUN 32

// out[rows x columns] = in[rows x inner] * weight[inner x columns] + bias[columns]
extern "C" __global__ void linear(float* out, const float* in, const float* weight, const float* bias, int rows,
                                  int inner, int columns) {
  const int column = (int)(blockIdx.x * blockDim.x + threadIdx.x) * TILE_COLUMNS;
  const int row = (int)(blockIdx.y * blockDim.y + threadIdx.y) * TILE_ROWS;
  if (row >= rows || column >= columns) return;
  float sum[TILE_ROWS][TILE_COLUMNS];
  for (int r = 0; r < TILE_ROWS; ++r)
    for (int c = 0; c < TILE_COLUMNS; ++c) sum[r][c] = bias[column + c];
  for (int k = 0; k < inner; ++k) {
    const float* line = weight + (size_t)k * columns + column;
    for (int r = 0; r < TILE_ROWS; ++r) {
      const float factor = in[(size_t)(row + r) * inner + k];
      for (int c = 0; c < TILE_COLUMNS; ++c) sum[r][c] += factor * line[c];
    }
  }
  for (int r = 0; r < TILE_ROWS; ++r)
    for (int c = 0; c < TILE_COLUMNS; ++c) out[(size_t)(row + r) * columns + column + c] = sum[r][c];
}
TESSERA_KERNEL(linear)

// gradient[inner x columns] = transposed(in[rows x inner]) * delta[rows x columns]
extern "C" __global__ void weight_gradient(float* gradient, const float* in, const float* delta, int rows, int inner,
                                           int columns) {
  const int column = (int)(blockIdx.x * blockDim.x + threadIdx.x) * TILE_COLUMNS;
  const int line = (int)(blockIdx.y * blockDim.y + threadIdx.y) * TILE_ROWS;
  if (line >= inner || column >= columns) return;
  float sum[TILE_ROWS][TILE_COLUMNS];
  for (int i = 0; i < TILE_ROWS; ++i)
    for (int c = 0; c < TILE_COLUMNS; ++c) sum[i][c] = 0.0f;
  for (int row = 0; row < rows; ++row) {
    const float* from = delta + (size_t)row * columns + column;
    for (int i = 0; i < TILE_ROWS; ++i) {
      const float factor = in[(size_t)row * inner + line + i];
      for (int c = 0; c < TILE_COLUMNS; ++c) sum[i][c] += factor * from[c];
    }
  }
  for (int i = 0; i < TILE_ROWS; ++i)
    for (int c = 0; c < TILE_COLUMNS; ++c) gradient[(size_t)(line + i) * columns + column + c] = sum[i][c];
}
TESSERA_KERNEL(weight_gradient)

// out[rows x inner] = delta[rows x columns] * transposed(weight[inner x columns]) + add[rows x inner]
// `add` may be null, and may be `out` itself.
extern "C" __global__ void input_gradient(float* out, const float* delta, const float* weight, const float* add,
                                          int rows, int inner, int columns) {
  const int first = (int)(blockIdx.x * blockDim.x + threadIdx.x) * TILE_ROWS;
  const int row = (int)(blockIdx.y * blockDim.y + threadIdx.y) * TILE_ROWS;
  if (row >= rows || first >= inner) return;
  for (int r = row; r < row + TILE_ROWS; ++r) {
    for (int k = first; k < first + TILE_ROWS; ++k) {
      const float* left = delta + (size_t)r * columns;
      const float* right = weight + (size_t)k * columns;
      float lane[LANES];
      for (int l = 0; l < LANES; ++l) lane[l] = 0.0f;
      for (int c = 0; c < columns; c += LANES)
        for (int l = 0; l < LANES; ++l) lane[l] += left[c + l] * right[c + l];
      float sum = add == nullptr ? 0.0f : add[(size_t)r * inner + k];
      for (int l = 0; l < LANES; ++l) sum += lane[l];
      out[(size_t)r * inner + k] = sum;
    }
  }
}
TESSERA_KERNEL(input_gradient)

// gradient[columns] = the sum of delta's rows
extern "C" __global__ void bias_gradient(float* gradient, const float* delta, int rows, int columns) {
  const int column = (int)(blockIdx.x * blockDim.x + threadIdx.x) * TILE_COLUMNS;
  if (column >= columns) return;
  float sum[TILE_COLUMNS];
  for (int c = 0; c < TILE_COLUMNS; ++c) sum[c] = 0.0f;
  for (int row = 0; row < rows; ++row)
    for (int c = 0; c < TILE_COLUMNS; ++c) sum[c] += delta[(size_t)row * columns + column + c];
  for (int c = 0; c < TILE_COLUMNS; ++c) gradient[column + c] = sum[c];
}
TESSERA_KERNEL(bias_gradient)

// act = tanh(act); next = from + act
extern "C" __global__ void tanh_residual(float* next, float* act, const float* from, int count) {
  const int start = (int)(blockIdx.x * blockDim.x + threadIdx.x) * RUN;
  for (int i = start; i < start + RUN && i < count; ++i) {
    const float value = tanhf(act[i]);
    act[i] = value;
    next[i] = from[i] + value;
  }
}
TESSERA_KERNEL(tanh_residual)

// delta = upstream * (1 - act^2)
extern "C" __global__ void tanh_gradient(float* delta, const float* upstream, const float* act, int count) {
  const int start = (int)(blockIdx.x * blockDim.x + threadIdx.x) * RUN;
  for (int i = start; i < start + RUN && i < count; ++i) delta[i] = upstream[i] * (1.0f - act[i] * act[i]);
}
TESSERA_KERNEL(tanh_gradient)

// One thread per row: its loss, and the gradient of the mean loss with respect to the logits.
extern "C" __global__ void softmax_loss(float* delta, float* loss, const float* logits, const int* labels, int rows,
                                        int columns) {
  const int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  const float* in = logits + (size_t)row * columns;
  float* out = delta + (size_t)row * columns;
  float largest = in[0];
  for (int c = 1; c < columns; ++c) largest = in[c] > largest ? in[c] : largest;
  float sum = 0.0f;
  for (int c = 0; c < columns; ++c) {
    out[c] = expf(in[c] - largest);
    sum += out[c];
  }
  for (int c = 0; c < columns; ++c) {
    const float target = c == labels[row] ? 1.0f : 0.0f;
    out[c] = (out[c] / sum - target) / (float)rows;
  }
  loss[row] = logf(sum) - (in[labels[row]] - largest);
}
TESSERA_KERNEL(softmax_loss)

// Adam; `correction` is folded into the rate by the host: it is what remains of the two bias corrections.
extern "C" __global__ void adam(float* weight, float* first, float* second, const float* gradient, float rate,
                                float epsilon, int count) {
  const int start = (int)(blockIdx.x * blockDim.x + threadIdx.x) * RUN;
  if (start + RUN > count) return;
  for (int i = start; i < start + RUN; ++i) {
    const float g = gradient[i];
    const float m = 0.9f * first[i] + 0.1f * g;
    const float v = 0.999f * second[i] + 0.001f * g * g;
    first[i] = m;
    second[i] = v;
    weight[i] -= rate * m / (sqrtf(v) + epsilon);
  }
}
TESSERA_KERNEL(adam)
