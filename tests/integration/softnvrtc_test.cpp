// CUDA C as text, compiled by the stand-in for NVRTC and run on the software device.
#if __has_include(<nvrtc.h>)
#include "softnvrtc_library.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace {

using softcuda_test::Compiled;
using softcuda_test::in_child;

// Must be first: the forking process may not have started a machine.
TEST(SoftnvrtcFault, AFaultBetweenBarriersIsAnErrorAndNoCrash) {
  EXPECT_TRUE(in_child([] {
    CUcontext context = nullptr;
    EXPECT_OK(CU(cuInit)(0));
    EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
    EXPECT_OK(CU(cuCtxSetCurrent)(context));
    const Compiled compiled(R"(extern "C" __global__ void wild() {
      __syncthreads();
      if (threadIdx.x == 3) *(float*)16 = 1;
      __syncthreads();
    })");
    EXPECT_OK(CU(cuLaunchKernel)(compiled.kernel("wild"), 1, 1, 1, 8, 1, 1, 0, nullptr, nullptr, nullptr));
    return CU(cuCtxSynchronize)() == CUDA_ERROR_ILLEGAL_ADDRESS;
  }));
}

// A GPU would hang.
TEST(SoftnvrtcFault, EndlessBarrierWaitsAreAnErrorAndNoHang) {
  EXPECT_TRUE(in_child([] {
    CUcontext context = nullptr;
    EXPECT_OK(CU(cuInit)(0));
    EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
    EXPECT_OK(CU(cuCtxSetCurrent)(context));
    const Compiled compiled(R"(extern "C" __global__ void stuck() {
      if (threadIdx.x < 4) __syncwarp();
      else __syncthreads();
    })");
    EXPECT_OK(CU(cuLaunchKernel)(compiled.kernel("stuck"), 1, 1, 1, 8, 1, 1, 0, nullptr, nullptr, nullptr));
    return CU(cuCtxSynchronize)() == CUDA_ERROR_ILLEGAL_ADDRESS;
  }));
}

// Leaves room for no more than 32 MiB of new mappings; the stacks of 1024 threads take 64 MiB.
void leave_little_room() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (32 << 20);
  const rlimit limit = {bytes, RLIM_INFINITY};
  EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
}

TEST(SoftnvrtcFault, StacksWithoutMemoryAreAnErrorAndNoCrash) {
  EXPECT_TRUE(in_child([] {
    CUcontext context = nullptr;
    EXPECT_OK(CU(cuInit)(0));
    EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
    EXPECT_OK(CU(cuCtxSetCurrent)(context));
    const Compiled compiled(R"(extern "C" __global__ void meet() { __syncthreads(); })");
    CUfunction meet = compiled.kernel("meet");
    EXPECT_OK(CU(cuLaunchKernel)(meet, 1, 1, 1, 8, 1, 1, 0, nullptr, nullptr, nullptr));
    EXPECT_OK(CU(cuCtxSynchronize)());
    leave_little_room();
    EXPECT_OK(CU(cuLaunchKernel)(meet, 1, 1, 1, 1024, 1, 1, 0, nullptr, nullptr, nullptr));
    return CU(cuCtxSynchronize)() == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  }));
}

class Softnvrtc : public softcuda_test::SoftwareCompiler {};

constexpr const char* kReverse = R"(
  extern "C" __global__ void __launch_bounds__(64) reverse(float* out, const float* in) {
    __shared__ __align__(16) float row[64];
    const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    for (int times = 0; times < 3; ++times) {
      row[threadIdx.x] = in[place];
      __syncthreads();
      out[place] = row[blockDim.x - 1 - threadIdx.x];
      __syncthreads();
    }
  })";

TEST_F(Softnvrtc, ThreadsOfABlockMeetAtABarrierInEveryBlockAndLaunch) {
  const Compiled compiled(kReverse, {"--gpu-architecture=sm_90", "--minimal"});
  const CUfunction reverse = compiled.kernel("reverse");
  for (const unsigned threads : {8U, 64U, 32U}) {
    const auto got = run(reverse, 3, threads);
    for (unsigned i = 0; i < got.size(); ++i) {
      const unsigned first = i / threads * threads;
      ASSERT_EQ(got[i], static_cast<float>(2 * first + threads - 1 - i)) << threads << " " << i;
    }
  }
}

TEST_F(Softnvrtc, DoesNotWaitForAnEndedThread) {
  const Compiled compiled(R"(extern "C" __global__ void half_ends(float* out, const float* in) {
    out[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x >= 4) return;
    __syncthreads();
    out[threadIdx.x] = out[threadIdx.x + 4];
  })");
  EXPECT_EQ(run(compiled.kernel("half_ends"), 1, 8), (std::vector<float>{4, 5, 6, 7, 4, 5, 6, 7}));
}

TEST_F(Softnvrtc, SharedMemoryMayHaveTheSizeThatTheLaunchGives) {
  const Compiled compiled(R"(extern __shared__ __align__(16) unsigned char
      outside[];
  template <class T>
  __device__ T* typed() {
    extern __shared__ T inside_template[];
    return inside_template;
  }
  extern "C" __global__ void reverse(float* out, const float* in) {
    extern __shared__ float row[];
    row[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const bool same = (void*)outside == (void*)row && typed<float>() == row && __LINE__ == 12;
    out[threadIdx.x] = same ? row[blockDim.x - 1 - threadIdx.x] : -1;
  })");
  CUdeviceptr at = allocate(256 * sizeof(float));
  void* parameters[] = {&at, &at};
  std::vector<float> values(256);
  std::iota(values.begin(), values.end(), 0.0F);
  EXPECT_OK(CU(cuMemcpyHtoD)(at, values.data(), 1024));
  EXPECT_OK(CU(cuLaunchKernel)(compiled.kernel("reverse"), 1, 1, 1, 256, 1, 1, 1024, nullptr, parameters, nullptr));
  EXPECT_OK(CU(cuMemcpyDtoH)(values.data(), at, 1024));
  for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(values[i], static_cast<float>(255 - i)) << i;
  EXPECT_OK(CU(cuMemFree)(at));
}

// Warps meet at different times, and the barrier after that covers all of them.
TEST_F(Softnvrtc, LanesOfAWarpShuffleAndTheBlockStillMeets) {
  const Compiled compiled(R"(extern "C" __global__ void total(float* out, const float* in) {
    __shared__ float sums[32];
    float sum = in[threadIdx.x];
    for (int times = 0; times <= threadIdx.x / warpSize; ++times) __syncwarp();
    for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffff, sum, by);
    if (threadIdx.x % warpSize == 0) sums[threadIdx.x / warpSize] = sum;
    __syncthreads();
    float all = 0;
    for (int warp = 0; warp < blockDim.x / warpSize; ++warp) all += sums[warp];
    out[threadIdx.x] = all;
  })");
  for (const unsigned threads : {32U, 128U, 1024U}) {
    const auto got = run(compiled.kernel("total"), 1, threads);
    const float expected = static_cast<float>(threads) * static_cast<float>(threads - 1) / 2;
    EXPECT_EQ(got, std::vector<float>(threads, expected));
  }
}

TEST_F(Softnvrtc, EachFormOfShuffleTakesTheLaneThatCudaNames) {
  const Compiled compiled(R"(extern "C" __global__ void forms(float* out, const float* in) {
    const unsigned lane = threadIdx.x;
    const unsigned all = 0xffffffff;
    bool ok = __shfl_sync(all, lane, 5) == 5 && __shfl_sync(all, lane, 9, 8) == (lane & 24) + 1;
    ok &= __shfl_up_sync(all, lane, 3) == (lane < 3 ? lane : lane - 3);
    ok &= __shfl_up_sync(all, lane, 3, 8) == (lane % 8 < 3 ? lane : lane - 3);
    ok &= __shfl_down_sync(all, lane, 3, 16) == (lane % 16 + 3 < 16 ? lane + 3 : lane);
    ok &= __shfl_xor_sync(all, lane, 1) == (lane ^ 1);
    ok &= __shfl_xor_sync(all, lane, 8, 8) == (lane % 16 >= 8 ? lane - 8 : lane);
    ok &= __shfl_sync(all, 0.5 + lane, 31) == 31.5;
    out[lane] = ok ? 1 : 0;
  })");
  EXPECT_EQ(run(compiled.kernel("forms"), 1, 32), std::vector<float>(32, 1));
}

TEST_F(Softnvrtc, LanesVoteAndReduceAlsoInPartsOfAWarp) {
  const Compiled compiled(R"(extern "C" __global__ void votes(float* out, const float* in) {
    const unsigned lane = threadIdx.x;
    const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
    bool ok = __ballot_sync(0xffffffff, lane % 4 == 1) == 0x22222222u;
    if (lane < 16) ok &= __ballot_sync(half, lane == 3) == 8 && __any_sync(half, lane == 3);
    else ok &= __all_sync(half, lane >= 16) && !__all_sync(half, lane > 16);
    ok &= __reduce_add_sync(half, lane) == (lane < 16 ? 120 : 376);
    ok &= __reduce_max_sync(half, (int)lane - 20) == (lane < 16 ? -5 : 11);
    ok &= __match_any_sync(0xffffffff, lane / 8) == 0xffu << (lane / 8 * 8);
    ok &= __syncthreads_count(lane < 7) == 7 && __syncthreads_or(lane == 1) && !__syncthreads_and(lane);
    out[lane] = ok ? 1 : 0;
    if (lane >= 8) return;
    out[lane] += __any_sync(0xffffffff, lane == 7);
  })");
  auto expected = std::vector<float>(32, 1);
  std::fill_n(expected.begin(), 8, 2.0F);
  EXPECT_EQ(run(compiled.kernel("votes"), 1, 32), expected);
}

TEST_F(Softnvrtc, VectorsHalvesAndFunctionsOnNumbersCompute) {
  const Compiled compiled(R"(#include <cuda_fp16.h>
  __device__ __forceinline__ float twice(float x) { return x + x; }
  extern "C" __global__ void mixed(float* out, const float* in) {
    float4 four = *((float4*)(in + 4 * threadIdx.x));
    half two = hsqrt((half)four.y * (half)four.y);
    *((float4*)(out + 4 * threadIdx.x)) = make_float4(
        twice(four.x), (float)two, __int_as_float(__float_as_int(four.z)), max(sqrt(four.w * four.w), 0.0f));
  })");
  auto got = run(compiled.kernel("mixed"), 4, 1);
  EXPECT_EQ(got, (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(Softnvrtc, Bfloat16RoundsToNearestAndTiesToEven) {
  const Compiled compiled(R"(#include <cuda_bf16.h>
  extern "C" __global__ void kernel(float* out, const float* in) {
    const nv_bfloat16 one = 1.0f, step = 0.00390625f;  // half of the distance to the next number
    nv_bfloat16 sum = one;
    sum += step;
    const float results[8] = {
        one + step,                                        // a tie, to even: 1
        nv_bfloat16(1.0078125f) + step,                    // a tie, to even: up
        __float2bfloat16(1.00390637f),                     // more than half
        sum, -one + 2.5f, hsqrt(nv_bfloat16(16)), __hfma(one, one, one),
        __isnan_of(nv_bfloat16(__int_as_float(0x7fc00000)))};
    out[threadIdx.x] = results[threadIdx.x];
  })",
                          {"-D__isnan_of(x)=(float)__hisnan(x)"});
  EXPECT_EQ(run(compiled.kernel("kernel"), 1, 8), (std::vector<float>{1, 1.015625F, 1.0078125F, 1, 1.5F, 4, 2, 1}));
}

TEST_F(Softnvrtc, BothHalvesLieWhereHalvesOfAWordLie) {
  const Compiled compiled(R"(#include <cuda_bf16.h>
  extern "C" __global__ void kernel(float* out, const float* in) {
    const nv_bfloat162 both = __floats2bfloat162_rn(in[threadIdx.x], 7);
    ((nv_bfloat162*)out)[threadIdx.x] = both;
    out[threadIdx.x] = __low2float(both) * 10 + __uint_as_float(*(unsigned*)(out + threadIdx.x) & 0xffff0000);
  })");
  EXPECT_EQ(run(compiled.kernel("kernel"), 1, 4), (std::vector<float>{7, 17, 27, 37}));
}

TEST_F(Softnvrtc, MemoryMayBeReadAsAnotherTypeThanWasWritten) {
  const Compiled compiled(R"(extern "C" __global__ void pun(float* out, const float* in) {
    ((short2*)out)[threadIdx.x] = make_short2(0, 0x4000 + threadIdx.x);
    out[threadIdx.x] += __int_as_float(*(int*)(out + threadIdx.x) & 0xffff0000);
  })");
  EXPECT_EQ(run(compiled.kernel("pun"), 1, 2), (std::vector<float>{4, 4.03125F}));
}

TEST_F(Softnvrtc, FindsKernelsAnywhereInTheSource) {
  const Compiled compiled(R"(// extern "C" __global__ void none() {}
  extern "C" __global__ void declared(float* out, const float* in);
  extern "C" {
  __global__ void second(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x] + 2; }
  }
  extern "C" __global__ __launch_bounds__(128) void declared(float* out, const float* in) {
    out[threadIdx.x] = in[threadIdx.x] + 1;
  })");
  EXPECT_EQ(run(compiled.kernel("declared"), 1, 2), (std::vector<float>{1, 2}));
  EXPECT_EQ(run(compiled.kernel("second"), 1, 2), (std::vector<float>{2, 3}));
}

TEST_F(Softnvrtc, ATemplateIsReachedByItsExpression) {
  const char* const expression = "scale<float, 3>";
  const Compiled compiled(R"(template <class T, int factor>
  __global__ void scale(T* out, const T* in) { out[threadIdx.x] = in[threadIdx.x] * factor; })",
                          {}, expression);
  const char* lowered = nullptr;
  ASSERT_EQ(RTC(nvrtcGetLoweredName)(compiled.program, expression, &lowered), NVRTC_SUCCESS);
  EXPECT_EQ(run(compiled.kernel(lowered), 1, 3), (std::vector<float>{0, 3, 6}));
  EXPECT_EQ(RTC(nvrtcGetLoweredName)(compiled.program, "other", &lowered), NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
}

TEST_F(Softnvrtc, MacrosAndHeadersOfTheProgramAreUsed) {
  const char* const text = "#define OFFSET 5\n";
  const char* const name = "offset.h";
  nvrtcProgram program = nullptr;
  ASSERT_EQ(RTC(nvrtcCreateProgram)(&program, R"(#include "offset.h"
    static_assert(OFFSET == 5 && WIDTH == 7, "");)",
                                    nullptr, 1, &text, &name),
            NVRTC_SUCCESS);
  const char* const options[] = {"-DWIDTH=7"};
  EXPECT_EQ(RTC(nvrtcCompileProgram)(program, 1, options), NVRTC_SUCCESS);
  EXPECT_EQ(RTC(nvrtcDestroyProgram)(&program), NVRTC_SUCCESS);
}

TEST_F(Softnvrtc, AnErrorIsInTheLogWithItsLine) {
  const Compiled compiled("\n\nextern \"C\" __global__ void k(float* out) { out[0] = nothing; }");
  EXPECT_EQ(compiled.result, NVRTC_ERROR_COMPILATION);
  EXPECT_NE(compiled.log().find("my.cu:3:"), std::string::npos) << compiled.log();
  EXPECT_NE(compiled.log().find("nothing"), std::string::npos) << compiled.log();
  std::size_t bytes = 0;
  EXPECT_EQ(RTC(nvrtcGetPTXSize)(compiled.program, &bytes), NVRTC_ERROR_INVALID_PROGRAM);
}

TEST_F(Softnvrtc, AFrameThatNoThreadsStackHoldsIsRefused) {
  const Compiled compiled(R"(extern "C" __global__ void k(float* out) {
    volatile float large[20000];
    for (int i = 0; i < 20000; ++i) large[i] = 1;
    __syncthreads();
    out[0] = large[threadIdx.x];
  })");
  EXPECT_EQ(compiled.result, NVRTC_ERROR_COMPILATION);
  EXPECT_NE(compiled.log().find("frame"), std::string::npos) << compiled.log();
}

TEST_F(Softnvrtc, InvalidArgumentsAreErrors) {
  EXPECT_EQ(Compiled("", {"--make-it-fast"}).result, NVRTC_ERROR_INVALID_OPTION);
  int stranger = 0;
  auto handle = reinterpret_cast<nvrtcProgram>(&stranger);
  EXPECT_EQ(RTC(nvrtcCompileProgram)(handle, 0, nullptr), NVRTC_ERROR_INVALID_PROGRAM);
  EXPECT_EQ(RTC(nvrtcDestroyProgram)(&handle), NVRTC_ERROR_INVALID_PROGRAM);
  EXPECT_EQ(RTC(nvrtcCreateProgram)(nullptr, "", "", 0, nullptr, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_STREQ(RTC(nvrtcGetErrorString)(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION");
}

}  // namespace
#endif
