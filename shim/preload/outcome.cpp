#include "outcome.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "tessera/tessera.h"

namespace tessera::preload {
namespace {

constexpr int kMostLines = 20;
constinit std::atomic<int> lines{0};

}  // namespace

CUresult cuda_result(tessera_result result) {
  switch (result) {
    case TESSERA_OK: return CUDA_SUCCESS;
    case TESSERA_INVALID_ARGUMENT: return CUDA_ERROR_INVALID_VALUE;
    case TESSERA_NOT_FOUND: return CUDA_ERROR_INVALID_VALUE;
    case TESSERA_OUT_OF_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case TESSERA_NOT_READY: return CUDA_ERROR_NOT_READY;
    case TESSERA_NOT_SUPPORTED: return CUDA_ERROR_NOT_SUPPORTED;
    case TESSERA_BUSY: return CUDA_ERROR_NOT_PERMITTED;
    case TESSERA_IO: return CUDA_ERROR_OPERATING_SYSTEM;
    case TESSERA_DATA_LOSS: return CUDA_ERROR_ECC_UNCORRECTABLE;
    case TESSERA_DRIVER: break;
    case TESSERA_INTERNAL: return CUDA_ERROR_UNKNOWN;
  }
  const int native = tessera_last_driver_code();
  return native != 0 ? static_cast<CUresult>(native) : CUDA_ERROR_UNKNOWN;
}

CUresult cuda_result_said(tessera_result result, const char* call) {
  if (result != TESSERA_OK) say("%s: %s", call, tessera_last_error());
  return cuda_result(result);
}

void say(const char* format, ...) {
  const int said = lines.fetch_add(1);
  if (said >= kMostLines) return;
  char text[1024] = "tessera: ";
  constexpr int kPrefix = 9;
  constexpr int kRoom = static_cast<int>(sizeof(text)) - kPrefix - 1;
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(text + kPrefix, kRoom, format, arguments);
  va_end(arguments);
  const int length = kPrefix + std::clamp(wanted, 0, kRoom - 1);
  text[length] = '\n';
  // A closed standard error is the program's choice; there is nobody left to tell.
  [[maybe_unused]] const auto written = write(2, text, static_cast<std::size_t>(length) + 1);
}

}  // namespace tessera::preload
