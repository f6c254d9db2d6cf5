// cuda.h with every name as in the ABI: cuMemAlloc_v2, cuMemcpy_ptds, ...
//
// Why: this library defines those very names, so the header's renaming macros must be off. Without them it declares all
// versions and both default-stream variants, and each hook is checked against its prototype. Functions newer than the
// header are declared in newer_cuda.h.
//
// Thread safety: no code.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "newer_cuda.h"

// Visible to the program, but bound locally where this library refers to its own function (the hook table).
#define TESSERA_HOOK extern "C" __attribute__((visibility("protected"))) CUresult CUDAAPI

// The return address of a hook, which identifies its caller. Use it in the hook itself.
#define TESSERA_CALLER __builtin_return_address(0)

// Defines both variants of a call. In the body, `True` is the driver's function and `stream` is the stream that orders
// the call: in a _ptds or _ptsz variant, a null stream means the thread's own default stream.
#define TESSERA_HOOK_PTDS(name, parameters, ...)    \
  TESSERA_HOOK name parameters {                    \
    constexpr auto True = &TrueDriver::name;        \
    const CUstream stream = CU_STREAM_LEGACY;       \
    __VA_ARGS__                                     \
  }                                                 \
  TESSERA_HOOK name##_ptds parameters {             \
    constexpr auto True = &TrueDriver::name##_ptds; \
    const CUstream stream = CU_STREAM_PER_THREAD;   \
    __VA_ARGS__                                     \
  }

// The same for calls with a stream parameter, which must be named `given`.
#define TESSERA_HOOK_PTSZ(name, parameters, ...)                             \
  TESSERA_HOOK name parameters {                                             \
    constexpr auto True = &TrueDriver::name;                                 \
    const CUstream stream = given != nullptr ? given : CU_STREAM_LEGACY;     \
    __VA_ARGS__                                                              \
  }                                                                          \
  TESSERA_HOOK name##_ptsz parameters {                                      \
    constexpr auto True = &TrueDriver::name##_ptsz;                          \
    const CUstream stream = given != nullptr ? given : CU_STREAM_PER_THREAD; \
    __VA_ARGS__                                                              \
  }
