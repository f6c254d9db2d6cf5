#include "process_id.hpp"

#include <charconv>
#include <string>

#include <fmt/core.h>

CLI::Validator is_process_id() {
  const auto complaint = [](const std::string& text) {
    int pid = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, pid);
    if (read.ec == std::errc{} && read.ptr == end && pid > 0) return std::string();
    return fmt::format("'{}' is not a process id; `tessera top` lists those of running programs", text);
  };
  return {complaint, "", "process id"};
}
