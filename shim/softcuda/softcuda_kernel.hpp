// One kernel source for both devices: CUDA C for nvcc, host code for the software device.
//
// A kernel is an ordinary extern "C" __global__ function; TESSERA_KERNEL(name) after it makes it
// known. Under nvcc that is nothing. Under the host compiler it makes the descriptor that the
// software device looks for, with the parameter layout of CUDA (natural alignment, in order) and a
// runner that calls the function once for each thread of a block, x fastest.
//
// Speed: a kernel is compiled for AVX2 and for any machine, and the right one is chosen when it is
// loaded. Give each thread a loop over contiguous elements, and it is vectorised. The arithmetic is
// the same in both: nothing is fused or reordered.
//
// __shared__ works as it is; a source that calls __syncthreads() defines SOFTCUDA_BARRIERS before it
// includes this page. Shared memory whose size the launch gives (extern __shared__) is not there: only
// the stand-in for NVRTC writes such a declaration anew.
//
// Thread safety: threadIdx and its like are thread-local.
#pragma once

#if defined(__CUDACC__)

#define TESSERA_KERNEL(name)

#else

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "softcuda_device.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define __global__ __attribute__((target_clones("avx2", "default")))
#else
#define __global__
#endif
#define __device__ inline
#define __restrict__ __restrict

#endif
