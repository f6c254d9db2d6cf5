#include "base/check.hpp"

#include <unistd.h>

#include <cstdlib>

#include <fmt/core.h>

namespace tessera::check {

void fail(const char* expression, const char* file, int line, std::uint64_t left, std::uint64_t right) {
  char text[512];
  const auto end = fmt::format_to_n(text, sizeof(text) - 1, "{}:{}: check failed: {} ({:#x}, {:#x})\n", file, line,
                                    expression, left, right);
  const auto length = end.size < sizeof(text) ? end.size : sizeof(text) - 1;
  // The process is about to abort; there is no way to report that stderr is closed.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, length);
  std::abort();
}

}  // namespace tessera::check
