#include "run_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/core.h>

#include "last_known.hpp"
#include "stats_command.hpp"

namespace {

std::string parse_run(const std::string& text, RunFile& file) {
  StatsText stats;
  if (text.empty() || !parse_stats(text, stats).empty()) {
    file.has_history = true;
    return parse_history(text, file.run);
  }
  if (!stats.is_json) return "these statistics are a table; for JSON the file name must end in .json";
  return parse_statistics(stats.text, file.run);
}

}  // namespace

std::string read_run_file(const std::string& name, RunFile& file) {
  std::ifstream stream(name, std::ios::binary);
  std::ostringstream contents;
  std::error_code unknown;
  contents << stream.rdbuf();
  if (!stream || std::filesystem::is_directory(name, unknown))
    return fmt::format("cannot read {}; `tessera run --history FILE` writes a file for reports", name);
  file.name = name;
  const std::string text = contents.str();
  const auto known = last_known_in(text);
  if (const std::string problem = parse_run(known ? known->text : text, file); !problem.empty()) {
    return fmt::format("{}: {}", name, problem);
  }
  if (known) fmt::print(stderr, "tessera: {}: {}\n", name, source_of(known->pid, name));
  return "";
}
