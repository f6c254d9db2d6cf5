// The keywords of CUDA C, and the declaration attributes of CUDA's own headers, for the host compiler.
//
// Thread safety: macros.
#pragma once

#if !defined(SOFTNVRTC_KEEPS_GLOBAL)
#define __global__
#endif
#define __device__ __attribute__((visibility("default")))
#define __constant__ __attribute__((visibility("default")))
#define __host__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __forceinline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __nv_pure__
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __device_builtin__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END

// The contents of these headers are already provided in another form: a toolkit header that includes one finds it
// already included.
#define __HOST_DEFINES_H__
#define __VECTOR_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__

#define __CUDA_ARCH__ 900
#if !defined(__CUDACC__)  // a program that replaces nvcc defines it
#define __CUDACC_RTC__ 1
#endif
