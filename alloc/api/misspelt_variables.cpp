#include "api/misspelt_variables.hpp"

#include <string_view>

#include "api/options.hpp"
#include "base/nearest_word.hpp"

namespace tessera {
namespace {

constexpr std::string_view kPrefix = "TESSERA_";

std::string_view without_prefix(std::string_view variable) { return variable.substr(kPrefix.size()); }

}  // namespace

std::vector<MisspeltVariable> misspelt_variables(const char* const* environment) {
  std::vector<std::string> names;
  for (const OptionEntry& entry : option_table()) names.push_back(environment_name(entry));
  std::vector<std::string_view> words;
  for (const std::string& name : names) words.push_back(without_prefix(name));
  std::vector<MisspeltVariable> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view line(*environment);
    const std::string_view variable = line.substr(0, line.find('='));
    if (!variable.starts_with(kPrefix)) continue;
    const std::string_view word = without_prefix(variable);
    const std::string_view nearest = nearest_word(word, words);
    if (nearest.empty() || nearest == word) continue;
    found.push_back({std::string(variable), std::string(kPrefix) + std::string(nearest)});
  }
  return found;
}

}  // namespace tessera
