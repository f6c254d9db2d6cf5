#include "api/misspelt_variables.hpp"

#include <algorithm>
#include <cstddef>

#include "api/options.hpp"

namespace tessera {
namespace {

constexpr std::string_view kPrefix = "TESSERA_";

// Optimal string alignment distance: insertions, deletions and replacements of letters; a transposition counts as one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// Cut off within a word: TESSERA_DEVICE_MEM. Cut at a word's end it is a different name: FILE_WRITE is not
// FILE_WRITE_BUDGET.
bool is_cut_off(std::string_view variable, std::string_view name) {
  return variable.size() >= kPrefix.size() + 4 && name.size() > variable.size() && name.starts_with(variable) &&
         name[variable.size()] != '_' && variable.back() != '_';
}

}  // namespace

std::string_view nearest_name(std::string_view variable, std::span<const std::string> names) {
  if (!variable.starts_with(kPrefix)) return "";
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, (variable.size() - kPrefix.size()) / 5) + 1;
  for (const std::string& name : names) {
    if (name == variable) return "";
    const std::size_t away = is_cut_off(variable, name) ? 1 : distance(variable, name);
    if (away < least) {
      least = away;
      nearest = name;
    }
  }
  return nearest;
}

std::vector<MisspeltVariable> misspelt_variables(const char* const* environment) {
  std::vector<std::string> names;
  for (const OptionEntry& entry : option_table()) names.push_back(environment_name(entry));
  std::vector<MisspeltVariable> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view line(*environment);
    const std::string_view variable = line.substr(0, line.find('='));
    const std::string_view nearest = nearest_name(variable, names);
    if (!nearest.empty()) found.push_back({std::string(variable), std::string(nearest)});
  }
  return found;
}

}  // namespace tessera
