// One kernel source for both kinds of devices: CUDA C for nvcc, host code for the software device.
//
// A kernel is an ordinary extern "C" __global__ function, followed by TESSERA_KERNEL(name), which registers it. Under
// nvcc the macro is empty. Under the host compiler it defines the descriptor that the software device looks for, with
// CUDA's parameter layout (natural alignment, in order) and a runner that calls the function once for each thread of a
// block, x fastest.
//
// Speed: a kernel is compiled both for AVX2 and for any machine, and the right version is chosen at load time. Give
// each thread a loop over contiguous elements, so that it is vectorised. A large struct is copied for each thread. The
// arithmetic is the same in both versions: nothing is fused or reordered. A kernel is compiled into the loop over the
// threads of a block, because most do less than a call costs. A source of kernels that do much in each thread defines
// SOFTCUDA_LARGE_KERNELS before including this file: compiled alone, their loops are faster.
//
// __shared__ works unchanged; a source that calls __syncthreads() defines SOFTCUDA_BARRIERS before including this file.
// Dynamically sized shared memory (extern __shared__) is not supported: only the NVRTC stand-in rewrites such
// declarations.
//
// Thread safety: threadIdx and the other built-in variables are thread-local.
#pragma once

#if defined(__CUDACC__)

#define TESSERA_KERNEL(name)

#else

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#define SOFTCUDA_VERSIONS __attribute__((target_clones("avx2", "default")))
#else
#define SOFTCUDA_VERSIONS
#endif
#if defined(SOFTCUDA_LARGE_KERNELS)
#define __global__ SOFTCUDA_VERSIONS
#else
#define SOFTCUDA_CLONES SOFTCUDA_VERSIONS
#define __global__ inline __attribute__((always_inline))
#endif
#include "softcuda_device.hpp"

#define __device__ inline
#define __restrict__ __restrict

#endif
