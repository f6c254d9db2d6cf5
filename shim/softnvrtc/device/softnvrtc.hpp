// What a source that is given to NVRTC finds without including anything.
//
// Every source is compiled with this page in front of it (-include). It holds the keywords of CUDA C,
// the vector types, and the functions on numbers; the compiler's builtins do the work, so that no
// standard header has to be read for each kernel.
//
// Thread safety: as softcuda_device.hpp says.
//
// Invariants: blocks of one device run one after another, and the threads of a block in turns that
// only a meeting ends, so an atomic operation is a plain one.
#pragma once

#include "../../softcuda/softcuda_device.hpp"

#define __global__
#define __device__ __attribute__((visibility("default")))
#define __constant__ __attribute__((visibility("default")))
#define __host__
#define __launch_bounds__(...)
#define __forceinline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __CUDA_ARCH__ 900
#define __CUDACC_RTC__ 1

#include "numbers.hpp"
#include "vectors.hpp"

#if defined(SOFTCUDA_BARRIERS)
#include "warps.hpp"
#endif
