#include "base/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace tessera {
namespace {

std::atomic<LogLevel> current_level{LogLevel::kWarning};

// Initialised before the program's main(). If descriptor 2 was closed then, it belongs to a file that the
// program opened since.
const bool kHadStandardError = ::fcntl(STDERR_FILENO, F_GETFD, 0) != -1 || errno != EBADF;

}  // namespace

bool has_standard_error() { return kHadStandardError; }

void set_log_level(LogLevel level) { current_level.store(level, std::memory_order_relaxed); }

bool log_enabled(LogLevel level) { return level <= current_level.load(std::memory_order_relaxed); }

void log_text(LogLevel level, std::string_view text) {
  if (!log_enabled(level) || !has_standard_error()) return;
  char line[1100];
  const auto end = fmt::format_to_n(line, sizeof(line) - 1, "tessera: {}", text);
  std::size_t length = end.size < sizeof(line) - 1 ? end.size : sizeof(line) - 1;
  line[length++] = '\n';
  // The program may have closed it since; there is no better place to report that.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, length);
}

}  // namespace tessera
