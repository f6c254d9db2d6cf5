// Tessera's results as CUDA errors, and the lines printed for the user.
//
// Thread safety: any thread.
#pragma once

#include "cuda_api.hpp"
#include "tessera/status.h"

namespace tessera::preload {

// The error that a program gets at the call that failed:
//   OUT_OF_MEMORY     CUDA_ERROR_OUT_OF_MEMORY
//   INVALID_ARGUMENT  CUDA_ERROR_INVALID_VALUE
//   NOT_FOUND         CUDA_ERROR_INVALID_VALUE      as CUDA returns for a pointer that is not live
//   NOT_READY         CUDA_ERROR_NOT_READY
//   NOT_SUPPORTED     CUDA_ERROR_NOT_SUPPORTED
//   BUSY              CUDA_ERROR_NOT_PERMITTED
//   IO                CUDA_ERROR_OPERATING_SYSTEM   the spill file belongs to the operating system
//   DATA_LOSS         CUDA_ERROR_ECC_UNCORRECTABLE  bytes in memory are not what was stored
//   DRIVER            the driver's own code
//   INTERNAL          CUDA_ERROR_UNKNOWN
CUresult cuda_result(tessera_result result);

// The same, and prints a line with the call's name: a CUDA code alone does not show which file is full or which budget
// is too small. Bounded: a last line announces that further ones are left out. Data errors (IO, DATA_LOSS, ECC) have
// their own quota of lines.
CUresult cuda_result_said(tessera_result result, const char* call);

// Prints "tessera: ..." on standard error, in one write, without allocating.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace tessera::preload
