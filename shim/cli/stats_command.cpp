#include "stats_command.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "last_known.hpp"
#include "wrong_use.hpp"

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string parse_stats(const std::string& contents, StatsText& stats) {
  if (contents.empty()) return "empty: no process of the run used the device, or it was killed at once";
  const auto known = last_known_in(contents);
  const std::string& text = known ? known->text : contents;
  const Json whole = Json::parse(text, nullptr, false);
  const bool is_json = whole.is_object() && whole.contains("tessera");
  if (!is_json && !text.starts_with("tessera\n"))
    return "no statistics; `tessera run --stats FILE` writes them, `tessera report` draws a history";
  stats = {text, is_json, known ? std::optional(known->pid) : std::nullopt};
  return "";
}

std::string table_of(const std::string& json) {
  std::string table;
  const Json groups = Json::parse(json);
  for (const auto& [group, figures] : groups.items()) {
    if (figures.empty()) continue;
    table += group + "\n";
    for (const auto& [name, value] : figures.items()) {
      table += fmt::format("  {} {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return table;
}

int stats_command(const StatsOptions& options) {
  std::ifstream file(options.file, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  StatsText stats;
  const std::string problem =
      file ? parse_stats(contents.str(), stats) : "cannot read the file; `tessera run --stats FILE` writes one";
  if (!problem.empty()) {
    fmt::print(stderr, "tessera: {}: {}\n", options.file, problem);
    return kWrongUse;
  }
  if (options.json && !stats.is_json) {
    fmt::print(stderr, "tessera: {}: this is a table; for JSON the file name must end in .json\n", options.file);
    return kWrongUse;
  }
  if (stats.last_of) {
    fmt::print(stderr, "tessera: {}: {}\n", options.file, source_of(*stats.last_of, options.file));
  }
  fmt::print("{}", stats.is_json && !options.json ? table_of(stats.text) : stats.text);
  if (stats.is_json && options.json && !stats.text.ends_with('\n')) fmt::print("\n");
  return 0;
}
