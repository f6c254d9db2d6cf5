// One-line messages to the user: "tessera: ...", on standard error.
//
// Bounded: a line is cut at 1 KiB and nothing is allocated, so any layer may log, also when out of memory. The
// level is set once from the options; a suppressed message costs one load.
//
// Thread safety: lines from several threads do not mix; each is one write.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace tessera {

enum class LogLevel : int { kQuiet = 0, kError, kWarning, kInfo, kDebug };

void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_text(LogLevel level, std::string_view text);
// Whether the process was started with a standard error. If it was not, descriptor 2 must not be written: it
// may by now be another file.
bool has_standard_error();

template <class... Args>
void log_line(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(level)) return;
  char text[1024];
  const auto end = fmt::format_to_n(text, sizeof(text), format, std::forward<Args>(args)...);
  log_text(level, std::string_view(text, end.size < sizeof(text) ? end.size : sizeof(text)));
}

}  // namespace tessera
