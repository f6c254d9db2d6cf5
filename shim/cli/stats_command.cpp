#include "stats_command.hpp"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wrong_use.hpp"

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPlace = 64 << 10;  // StatsBoard::kPlace; the file has two such places

struct Update {
  std::uint64_t number = 0;
  long pid = 0;
  std::string text;
};

// Parses a complete place; the process may have died while writing the other one.
std::optional<Update> update_in(std::string_view place) {
  const std::size_t line = place.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  const Json head = Json::parse(place.substr(0, line), nullptr, false);
  if (!head.is_object() || !head.contains("tessera_board") || !head.contains("bytes")) return std::nullopt;
  const std::size_t bytes = head["bytes"].get<std::size_t>();
  if (place.size() - line - 1 < bytes) return std::nullopt;
  Update update{head["tessera_board"].get<std::uint64_t>(), head.value("pid", 0L),
                std::string(place.substr(line + 1, bytes))};
  if (!Json::parse(update.text, nullptr, false).is_object()) return std::nullopt;
  return update;
}

}  // namespace

std::string parse_stats(const std::string& contents, StatsText& stats) {
  if (contents.empty()) return "empty: no process of the run used the device";
  std::optional<Update> newest;
  for (std::size_t at = 0; at < contents.size() && at <= kPlace; at += kPlace) {
    auto update = update_in(std::string_view(contents).substr(at, kPlace));
    if (update && (!newest || update->number > newest->number)) newest = std::move(update);
  }
  if (newest) {
    stats = {newest->text, true, true, newest->pid};
    return "";
  }
  if (contents.find('\0') != std::string::npos) return "no statistics";
  const Json whole = Json::parse(contents, nullptr, false);
  const bool is_json = whole.is_object() && whole.contains("tessera");
  if (!is_json && !contents.starts_with("tessera\n")) return "no statistics";
  stats = {contents, is_json, false, 0};
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
  const std::string problem = file ? parse_stats(contents.str(), stats) : "cannot read the file";
  if (!problem.empty()) {
    fmt::print(stderr, "tessera: {}: {}\n", options.file, problem);
    return kWrongUse;
  }
  if (options.json && !stats.is_json) {
    fmt::print(stderr, "tessera: {}: this is a table; for JSON the file name must end in .json\n", options.file);
    return kWrongUse;
  }
  if (stats.is_last_known) {
    const bool runs = stats.pid > 0 && ::kill(static_cast<pid_t>(stats.pid), 0) == 0;
    fmt::print(stderr, "tessera: {}: as of the last update of process {}, which {}\n", options.file, stats.pid,
               runs ? "runs" : "was killed");
  }
  fmt::print("{}", stats.is_json && !options.json ? table_of(stats.text) : stats.text);
  if (stats.is_json && options.json && !stats.text.ends_with('\n')) fmt::print("\n");
  return 0;
}
