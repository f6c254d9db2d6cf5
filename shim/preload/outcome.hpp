// Tessera's results as CUDA errors, and the lines we say to the person who runs the program.
//
// Thread safety: any thread.
#pragma once

#include "cuda_api.hpp"
#include "tessera/status.h"

namespace tessera::preload {

// The error a program expects at the call that failed:
//   OUT_OF_MEMORY     CUDA_ERROR_OUT_OF_MEMORY
//   INVALID_ARGUMENT  CUDA_ERROR_INVALID_VALUE
//   NOT_FOUND         CUDA_ERROR_INVALID_VALUE      what CUDA says of a pointer that is not live
//   NOT_READY         CUDA_ERROR_NOT_READY
//   NOT_SUPPORTED     CUDA_ERROR_NOT_SUPPORTED
//   BUSY              CUDA_ERROR_NOT_PERMITTED
//   IO                CUDA_ERROR_OPERATING_SYSTEM   the spill file is the operating system's
//   DATA_LOSS         CUDA_ERROR_ECC_UNCORRECTABLE  bytes in memory are not what was stored
//   DRIVER            the driver's own code
//   INTERNAL          CUDA_ERROR_UNKNOWN
CUresult cuda_result(tessera_result result);

// The same, and a line about it with the call's name: CUDA's codes alone do not tell which file is
// full or which budget is too small. Bounded: a last line says that further ones are left out. Errors of
// data (IO, DATA_LOSS, ECC) have lines of their own, which no others take.
CUresult cuda_result_said(tessera_result result, const char* call);

// "tessera: ..." on standard error, one write, nothing allocated.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace tessera::preload
