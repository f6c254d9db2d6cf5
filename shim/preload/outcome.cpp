#include "outcome.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "tessera/tessera.h"

namespace tessera::preload {
namespace {

constexpr int kMostLines = 20;

const bool kHadStandardError = ::fcntl(STDERR_FILENO, F_GETFD, 0) != -1 || errno != EBADF;

// Prints one line; `said` counts the earlier ones. The line after the last one announces that further lines are left
// out.
void say_counted(std::atomic<int>& said, const char* format, va_list arguments) {
  // If standard error was closed at start, its number belongs to a file that the program opened.
  if (!kHadStandardError) return;
  const int before = said.fetch_add(1);
  if (before > kMostLines) return;
  char text[1024] = "tessera: ";
  constexpr int kPrefix = 9;
  constexpr int kRoom = static_cast<int>(sizeof(text)) - kPrefix - 1;
  const int wanted = before == kMostLines ? std::snprintf(text + kPrefix, kRoom, "further messages are suppressed")
                                          : std::vsnprintf(text + kPrefix, kRoom, format, arguments);
  const int length = kPrefix + std::clamp(wanted, 0, kRoom - 1);
  text[length] = '\n';
  // The program may have closed it since.
  [[maybe_unused]] const auto written = write(2, text, static_cast<std::size_t>(length) + 1);
}

// Counted separately, so that data errors are reported however many other lines there were.
[[gnu::format(printf, 1, 2)]] void say_of_data(const char* format, ...) {
  static constinit std::atomic<int> said{0};
  va_list arguments;
  va_start(arguments, format);
  say_counted(said, format, arguments);
  va_end(arguments);
}

bool is_of_data(tessera_result result) {
  return result == TESSERA_IO || cuda_result(result) == CUDA_ERROR_ECC_UNCORRECTABLE;
}

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
  if (result == TESSERA_OK) return CUDA_SUCCESS;
  const CUresult told = cuda_result(result);
  // The program calls too late, and gets this error without Tessera as well.
  if (told == CUDA_ERROR_DEINITIALIZED || told == CUDA_ERROR_CONTEXT_IS_DESTROYED) return told;
  (is_of_data(result) ? say_of_data : say)("%s: %s", call, tessera_last_error());
  return told;
}

void say(const char* format, ...) {
  static constinit std::atomic<int> said{0};
  va_list arguments;
  va_start(arguments, format);
  say_counted(said, format, arguments);
  va_end(arguments);
}

}  // namespace tessera::preload
