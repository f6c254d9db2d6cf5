// cuda.h with its functions exported: programs bind to the definitions in this folder.
//
// Deprecated functions remain callable without a warning, because old programs use them.
//
// Thread safety: declarations only.
#pragma once

#define CUDA_ENABLE_DEPRECATED
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>

#include "newer_cuda.h"
#pragma GCC visibility pop
