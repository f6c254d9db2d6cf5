// Matrix products with cuBLASLt's column-major layout: c = alpha * a * b + beta * old. A thread computes a strip of
// rows for all columns, with every sum in the order of the inner index.
#include "softcuda_kernel.hpp"

namespace {

constexpr int kStrip = 32;

template <class T>
struct Matrix {
  T* at;
  long long stride;
};

template <class T>
void product(Matrix<T> c, Matrix<const T> a, Matrix<const T> b, Matrix<const T> old, int rows, int columns, int inner,
             T alpha, T beta) {
  const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kStrip;
  const int count = rows - first < kStrip ? rows - first : kStrip;
  for (int column = 0; column < columns && count > 0; ++column) {
    T sums[kStrip] = {};
    for (int i = 0; i < inner; ++i) {
      const T factor = b.at[column * b.stride + i];
      const T* const from = a.at + i * a.stride + first;
      for (int row = 0; row < count; ++row) sums[row] += from[row] * factor;
    }
    for (int row = 0; row < count; ++row) {
      // The old value is not read if beta is 0: it may be NaN.
      const T before = beta == 0 ? T(0) : beta * old.at[column * old.stride + first + row];
      c.at[column * c.stride + first + row] = alpha * sums[row] + before;
    }
  }
}

}  // namespace

extern "C" __global__ void product_float(float* c, const float* a, const float* b, const float* old, long long c_stride,
                                         long long a_stride, long long b_stride, long long old_stride, int rows,
                                         int columns, int inner, float alpha, float beta) {
  product<float>({c, c_stride}, {a, a_stride}, {b, b_stride}, {old, old_stride}, rows, columns, inner, alpha, beta);
}
TESSERA_KERNEL(product_float)

extern "C" __global__ void product_double(double* c, const double* a, const double* b, const double* old,
                                          long long c_stride, long long a_stride, long long b_stride,
                                          long long old_stride, int rows, int columns, int inner, double alpha,
                                          double beta) {
  product<double>({c, c_stride}, {a, a_stride}, {b, b_stride}, {old, old_stride}, rows, columns, inner, alpha, beta);
}
TESSERA_KERNEL(product_double)
