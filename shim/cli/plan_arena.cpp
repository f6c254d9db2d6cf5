#include "plan_arena.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "rounded.hpp"
#include "tessera/tessera.h"

namespace {

using Columns = std::array<std::size_t, 3>;  // indices of the columns bytes, first and last
constexpr std::array<const char*, 3> kColumnNames = {"bytes", "first", "last"};
constexpr std::size_t kMostRecords = 10'000'000;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream words(line.substr(0, line.find_last_not_of("\r \t") + 1));
  for (std::string field; std::getline(words, field, ',');) fields.push_back(field);
  return fields;
}

std::optional<Columns> columns_of(const std::vector<std::string>& names) {
  Columns columns{};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), kColumnNames[i]);
    if (found == names.end()) return std::nullopt;
    columns[i] = static_cast<std::size_t>(found - names.begin());
  }
  return columns;
}

bool read_number(const std::vector<std::string>& fields, std::size_t column, std::uint64_t& value) {
  if (column >= fields.size()) return false;
  const std::string& text = fields[column];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

struct ArenaFigure {
  const char* key;
  const char* name;
  std::uint64_t tessera_arena_figures::*bytes;
  std::uint64_t tessera_arena_figures::*bound;  // the bound to compare with, or null
};

constexpr std::array<ArenaFigure, 9> kArenaRows = {{
    {"naive_bytes", "no sharing", &tessera_arena_figures::naive_bytes, nullptr},
    {"offset_lower_bound", "offsets: lower bound", &tessera_arena_figures::offset_lower_bound, nullptr},
    {"offset_greedy_by_size", "offsets: greedy by size", &tessera_arena_figures::offset_greedy_by_size,
     &tessera_arena_figures::offset_lower_bound},
    {"offset_greedy_by_breadth", "offsets: greedy by breadth", &tessera_arena_figures::offset_greedy_by_breadth,
     &tessera_arena_figures::offset_lower_bound},
    {"offset_best_fit", "offsets: best fit", &tessera_arena_figures::offset_best_fit,
     &tessera_arena_figures::offset_lower_bound},
    {"shared_lower_bound", "shared: lower bound", &tessera_arena_figures::shared_lower_bound, nullptr},
    {"shared_greedy_by_size", "shared: greedy by size", &tessera_arena_figures::shared_greedy_by_size,
     &tessera_arena_figures::shared_lower_bound},
    {"shared_improved", "shared: improved", &tessera_arena_figures::shared_improved,
     &tessera_arena_figures::shared_lower_bound},
    {"shared_by_breadth", "shared: by breadth", &tessera_arena_figures::shared_by_breadth,
     &tessera_arena_figures::shared_lower_bound},
}};

}  // namespace

std::string read_records(std::istream& text, std::vector<tessera_plan_record>& records) {
  std::string line;
  if (!std::getline(text, line)) return "line 1: the file is empty";
  const std::optional<Columns> columns = columns_of(fields_of(line));
  if (!columns) return "line 1: must name the columns bytes,first,last";
  for (std::size_t number = 2; std::getline(text, line); ++number) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.empty()) continue;
    std::array<std::uint64_t, 3> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!read_number(fields, (*columns)[i], values[i])) {
        return fmt::format("line {}: {} is not a whole number", number, kColumnNames[i]);
      }
    }
    if (records.size() == kMostRecords) {
      return fmt::format("line {}: more than {} records", number, kMostRecords);
    }
    records.push_back({values[0], values[1], values[2]});
  }
  return text.bad() ? "read error" : "";
}

std::string arena_table(const tessera_arena_figures& figures) {
  std::string table;
  for (const ArenaFigure& row : kArenaRows) {
    const std::uint64_t bytes = figures.*row.bytes;
    table += fmt::format("{:<27}{:>10}{:>20} bytes", row.name, rounded_bytes(bytes), bytes);
    if (row.bound != nullptr && figures.*row.bound != 0) {
      table += fmt::format("{:>8.3f} x bound", static_cast<double>(bytes) / static_cast<double>(figures.*row.bound));
    }
    table += '\n';
  }
  return table;
}

std::string arena_json(const tessera_arena_figures& figures) {
  nlohmann::ordered_json json;
  for (const ArenaFigure& row : kArenaRows) json[row.key] = figures.*row.bytes;
  return json.dump() + "\n";
}

int plan_arena_command(const PlanArenaOptions& options) {
  const auto refuse = [&](const std::string& problem) {
    fmt::print(stderr, "tessera: {}: {}\n", options.records, problem);
    return 1;
  };
  std::ifstream text(options.records);
  if (!text) return refuse(std::strerror(errno));
  std::vector<tessera_plan_record> records;
  const std::string problem = read_records(text, records);
  if (!problem.empty()) return refuse(problem);
  tessera_arena_figures figures{};
  figures.size = sizeof(figures);
  if (tessera_plan_arena(records.data(), records.size(), &figures) != TESSERA_OK) {
    return refuse(tessera_plan_last_error());
  }
  fmt::print("{}", options.json ? arena_json(figures) : arena_table(figures));
  return 0;
}
