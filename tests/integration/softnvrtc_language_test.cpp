// CUDA C's extensions to C++, as used by sources written for NVIDIA's compilers.
#if __has_include(<nvrtc.h>)
#include "softnvrtc_library.hpp"

namespace {

using softcuda_test::Compiled;

class SoftnvrtcLanguage : public softcuda_test::SoftwareCompiler {
 protected:
  // The first results of `kernel(float* out, const float* in)`, which runs in one thread.
  std::vector<float> results(const char* source, unsigned count, std::vector<const char*> options = {}) {
    const Compiled compiled(source, std::move(options));
    auto values = run(compiled.kernel("kernel"), count, 1);
    return values;
  }
};

TEST_F(SoftnvrtcLanguage, FunctionsWithTwoResultsGiveBoth) {
  EXPECT_EQ(results(R"(extern "C" __global__ void kernel(float* out, const float* in) {
    if (blockIdx.x != 0) return;
    float sine, cosine, whole;
    double wide, narrow;
    int exponent, quotient;
    sincosf(0.0f, &sine, &cosine);
    out[0] = sine + 10 * cosine;
    sincos(0.0, &wide, &narrow);
    out[1] = (float)(wide + 10 * narrow);
    out[2] = frexp(12.0f, &exponent);
    out[2] += exponent;
    out[3] = modf(2.25, &wide);
    out[3] += 10 * wide;
    out[4] = modff(-3.5f, &whole);
    out[4] += whole;
    out[5] = ldexp(1.5f, 4);
    out[6] = remquo(7.0, 2.0, &quotient);
    out[6] += 10 * (quotient & 7);
    sincospi(0.5f, &sine, &cosine);
    out[7] = sine + 10 * (fabs(cosine) < 1e-6f);
  })",
                    8),
            (std::vector<float>{10, 10, 4.75F, 20.25F, -3.5F, 24, 39, 11}));
}

TEST_F(SoftnvrtcLanguage, AtomicsHaveTheirHeader) {
  EXPECT_EQ(results(R"(
  #include <cuda/atomic>
  #include <cuda/std/cstdint>
  extern "C" __global__ void kernel(float* out, const float* in) {
    if (blockIdx.x != 0) return;
    cuda::std::uint32_t word = 4;
    cuda::atomic_ref<cuda::std::uint32_t, cuda::thread_scope_system> shared{word};
    out[0] = shared.fetch_add(3, cuda::memory_order_relaxed) + 10 * shared.load(cuda::memory_order_acquire);
    cuda::std::uint32_t expected = 1;
    out[1] = shared.compare_exchange_strong(expected, 9) + 10 * expected;
    out[2] = shared.compare_exchange_strong(expected, 9) + 10 * word;
    shared.store(2, cuda::std::memory_order_release);
    out[3] = ++shared;
    out[3] += 10 * shared.fetch_max(8u);
    out[3] += 100 * shared.exchange(1);
    cuda::atomic<int, cuda::thread_scope_block> own(5);
    own -= 2;
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    out[4] = own;
  })",
                    5),
            (std::vector<float>{74, 70, 91, 833, 3}));
}

TEST_F(SoftnvrtcLanguage, SignsAndNansAreDetectedInBothPrecisions) {
  EXPECT_EQ(results(R"(extern "C" __global__ void kernel(float* out, const float* in) {
    if (blockIdx.x != 0) return;
    const float none = __int_as_float(0x7fc00000);
    out[0] = signbit(-0.0f) + 10 * signbit(0.0) + 100 * signbit(-3.0);
    out[1] = isnan(none) + 10 * isinf(1.0f / 0.0f) + 100 * isfinite(1.0f);
    out[2] = max(none, 2.0f) + min(3.0f, none);
    out[3] = abs(-0.0f) == 0 && !signbit(abs(-0.0f));
  })",
                    4),
            (std::vector<float>{101, 111, 5, 1}));
}

// The functions are constant expressions for constants; integers are converted to double.
TEST_F(SoftnvrtcLanguage, FunctionsOnNumbersTakeConstantsAndWholeNumbers) {
  EXPECT_EQ(results(R"(
  __device__ constexpr float inverse() { return 1.0f / ::log2(8.0f); }
  constexpr double root = sqrt(16.0);
  extern "C" __global__ void kernel(float* out, const float* in) {
    if (blockIdx.x != 0) return;
    const int four = 4;
    out[0] = 3 * inverse() + root;
    out[1] = sqrt(four) + exp(0u) + pow(2, four) + pow(2.0f, 3);
    out[2] = max(1, 2.5) + max(3u, four) + min(7LL, four);
    out[3] = sizeof(pow(2.0f, four)) * 10 + sizeof(pow(2, four));
  })",
                    4),
            (std::vector<float>{5, 27, 10.5F, 48}));
}

TEST_F(SoftnvrtcLanguage, MemoryIsReadAndWrittenWithEveryHint) {
  EXPECT_EQ(results(R"(extern "C" __global__ void kernel(float* out, const float* in) {
    const unsigned at = blockIdx.x;
    const float sum = __ldg(in + at) + __ldca(in + at) + __ldcg(in + at) + __ldcs(in + at) + __ldcv(in + at);
    if (at == 0) __stcg(out + at, sum);
    if (at == 1) __stwb(out + at, sum);
    if (at == 2) __stcs(out + at, sum);
    if (at == 3) __stwt(out + at, sum);
    __threadfence_system();
  })",
                    4),
            (std::vector<float>{0, 5, 10, 15}));
}

TEST_F(SoftnvrtcLanguage, ANumberedBarrierIsMetByTheWholeBlock) {
  const Compiled compiled(R"(extern "C" __global__ void turn(float* out, const float* in) {
    __shared__ float row[16];
    row[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < 8) __barrier_sync(0);
    else __barrier_sync(0);
    out[threadIdx.x] = row[15 - threadIdx.x];
  })");
  const auto got = run(compiled.kernel("turn"), 1, 16);
  for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(got[i], static_cast<float>(15 - i));
}

TEST_F(SoftnvrtcLanguage, WordsAreConvertedSplitAndMultipliedAsCudaDoes) {
  EXPECT_EQ(results(R"(extern "C" __global__ void kernel(float* out, const float* in) {
    if (blockIdx.x != 0) return;
    const double value = 6.5;
    out[0] = (float)__hiloint2double(__double2hiint(value), __double2loint(value));
    out[1] = __float2int_rn(2.5f) + 10 * __float2int_rz(-2.5f) + 100 * __float2int_ru(2.5f);
    out[2] = __float2int_rz(1e20f) == 2147483647 && __float2int_rz(-1e20f) == -2147483647 - 1 &&
             __float2uint_rz(-1.0f) == 0 && __double2ll_rz(1e30) == 9223372036854775807LL;
    out[3] = __umul64hi(1ULL << 40, 1ULL << 30) + 10 * (__mulhi(-1, 2) == -1);
    out[4] = __brev(1) == 0x80000000u && __clzll(1) == 63 && __ffsll(1LL << 40) == 41;
    unsigned word = 3;
    atomicInc(&word, 3u);
    out[5] = word;                         // 0: it was at its end
    out[5] += 10 * atomicAdd(&word, 7);    // 7 now
    out[5] += 100 * atomicXor(&word, 1u);  // 6 now
    out[5] += word;
  })",
                    6),
            (std::vector<float>{6.5F, 282, 1, 74, 1, 706}));
}

TEST_F(SoftnvrtcLanguage, FindsKernelsMadeByMacros) {
  EXPECT_EQ(results(R"(
  #define KERNEL(name) \
    extern "C" \
    __global__ void name##l
  #define NAME kerne
  #define APPLY(macro, name) macro(name)
  APPLY(KERNEL, NAME)(float* out, const float* in) { out[blockIdx.x] = 7; }
  )",
                    1),
            (std::vector<float>{7}));
}

// NVRTC has no <stdint.h>: sources define these types themselves, and not always like the host's.
TEST_F(SoftnvrtcLanguage, ASourceMayDefineTheIntegerTypesItself) {
  EXPECT_EQ(results(R"(
  typedef unsigned int uint32_t;
  typedef long long int64_t;
  using uint64_t = unsigned long long;
  template <class A, class B>
  struct Same { static constexpr bool value = false; };
  template <class A>
  struct Same<A, A> { static constexpr bool value = true; };
  extern "C" __global__ void kernel(float* out, const float* in) {
    __syncthreads();
    out[blockIdx.x] = Same<int64_t, long long>::value && Same<uint64_t, unsigned long long>::value;
  })",
                    1),
            (std::vector<float>{1}));
}

// The toolkit's own headers annotate declarations and repeat predefined ones.
TEST_F(SoftnvrtcLanguage, HeadersOfTheToolkitMayBeIncluded) {
  EXPECT_EQ(results(R"(#include <cuda_runtime.h>
  #include <vector_types.h>
  #include <math.h>
  __host__ __device__ __cudart_builtin__ float CUDARTAPI twice(float x) { return x + x; }
  struct __device_builtin__ __builtin_align__(16) Wide { float x; };
  static_assert(sizeof(Wide) == 16 && warpSize == 32, "");
  extern "C" __global__ void kernel(float* out, const float* in) {
    out[blockIdx.x] = twice(exp(in[blockIdx.x] - in[blockIdx.x]));
  })",
                    1),
            (std::vector<float>{2}));
}

TEST_F(SoftnvrtcLanguage, HeadersThatTheToolkitHasForKernelsCompile) {
  EXPECT_EQ(results(R"(#include <cuComplex.h>
  #include <math_constants.h>
  extern "C" __global__ void kernel(float* out, const float* in) {
    const cuFloatComplex square = cuCmulf(make_cuFloatComplex(1, 2), make_cuFloatComplex(1, 2));
    out[blockIdx.x] = cuCrealf(square) + 10 * cuCimagf(square) + CUDART_ZERO_F;
  })",
                    1, {"-I" TESSERA_CUDA_INCLUDE}),
            (std::vector<float>{37}));
}

// As under nvcc, since the program defines nvcc's own macro.
TEST_F(SoftnvrtcLanguage, RandomNumbersOfTheToolkitsHeadersAreTheSameEachTime) {
  EXPECT_EQ(results(R"(#include <curand_kernel.h>
  extern "C" __global__ void kernel(float* out, const float* in) {
    curandState first, second;
    curand_init(42, blockIdx.x, 0, &first);
    curand_init(42, blockIdx.x, 3, &second);
    float values[4];
    for (float& value : values) value = curand_uniform(&first);
    bool inside = true;
    for (const float value : values) inside = inside && value > 0 && value <= 1;
    const bool differ = values[0] != values[1] && values[1] != values[2];
    out[blockIdx.x] = inside && differ && curand_uniform(&second) == values[3] && isfinite(curand_normal(&first));
  })",
                    2, {"-D__CUDACC__", "-I" TESSERA_CUDA_INCLUDE, "-I" TESSERA_CUDA_INCLUDE "/cccl"}),
            (std::vector<float>{1, 1}));
}

}  // namespace
#endif
