#include "presets.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>

#include <fmt/core.h>

#include "child_environment.hpp"

namespace {

constexpr std::size_t kMostOfAScript = std::size_t{1} << 20;
constexpr std::size_t kMostScripts = 8;

// The items of a list "a:1,b:[2:3,4:5]" as PyTorch reads it: commas in brackets separate nothing, blanks are ignored.
std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char letter : list) {
    if (letter == '[') ++depth;
    if (letter == ']') --depth;
    if (letter == ',' && depth == 0) {
      items.emplace_back();
    } else if (letter != ' ') {
      items.back() += letter;
    }
  }
  return items;
}

bool has_item(const std::string& list, std::string_view wanted) {
  const bool any_value = wanted.ends_with(':');
  return std::ranges::any_of(
      items_of(list), [&](const std::string& item) { return any_value ? item.starts_with(wanted) : item == wanted; });
}

bool conflicts(const Preset& preset, const PresetConflict& conflict, const std::string& value) {
  if (value.empty()) return false;
  if (preset.form == Preset::Form::kList) return has_item(value, conflict.setting);
  return *conflict.setting == '\0' || value == conflict.setting;
}

// The first conflict counts, and of several variables the first in the order of the table.
bool find_conflict(const Preset& preset, const ChildEnvironment& environment, PresetOutcome& outcome) {
  for (const PresetConflict& conflict : preset.conflicts) {
    for (const PresetVariable& variable : preset.variables) {
      const std::string name = conflict.variable != nullptr ? conflict.variable : variable.name;
      const std::string value = environment.get(name);
      if (!conflicts(preset, conflict, value)) continue;
      outcome.left_for = fmt::format("{}={}", name, value);
      outcome.outcome = conflict.outcome;
      return true;
    }
  }
  return false;
}

// All names of a list get the same text, as the program may read either: the user's settings with the preset's.
void set_list(const Preset& preset, const ChildEnvironment& environment, PresetOutcome& outcome) {
  std::string users;
  for (const PresetVariable& variable : preset.variables) {
    if (users.empty()) users = environment.get(variable.name);
  }
  for (const PresetVariable& variable : preset.variables) {
    const std::string own = environment.get(variable.name);
    const std::string& before = own.empty() ? users : own;
    const std::string value = before.empty() ? variable.value : before + "," + variable.value;
    outcome.set.push_back({variable.name, value, !before.empty()});
  }
}

void set_words(const Preset& preset, const ChildEnvironment& environment, PresetOutcome& outcome) {
  for (const PresetVariable& variable : preset.variables) {
    if (environment.get(variable.name).empty()) outcome.set.push_back({variable.name, variable.value, false});
  }
}

PresetOutcome outcome_of(const Preset& preset, const ChildEnvironment& environment) {
  PresetOutcome outcome;
  outcome.preset = &preset;
  if (find_conflict(preset, environment, outcome)) return outcome;
  if (preset.form == Preset::Form::kList) {
    set_list(preset, environment, outcome);
  } else {
    set_words(preset, environment, outcome);
  }
  return outcome;
}

// The text of the scripts among the arguments, as far as it is read.
std::string scripts_of(const std::vector<std::string>& program) {
  std::string text;
  std::size_t scripts = 0;
  for (const std::string& word : program) {
    std::error_code error;
    if (!word.ends_with(".py") || !std::filesystem::is_regular_file(word, error)) continue;
    if (++scripts > kMostScripts) break;
    std::ifstream file(word, std::ios::binary);
    std::string one(kMostOfAScript, '\0');
    file.read(one.data(), static_cast<std::streamsize>(one.size()));
    one.resize(static_cast<std::size_t>(file.gcount()));
    text += one + "\n";
  }
  return text;
}

bool has_argument(const std::vector<std::string>& program, std::string_view text) {
  return std::ranges::any_of(program, [&](const std::string& word) {
    return word == text || word.substr(word.find('=') + 1) == text || word.substr(0, word.find('=')) == text;
  });
}

bool has_variable(const ChildEnvironment& environment, std::string_view setting) {
  const std::size_t equals = setting.find('=');
  return environment.get(std::string(setting.substr(0, equals))) == setting.substr(equals + 1);
}

// What the program asks for that the cudaMallocAsync backend cannot do, and where; "" if nothing is known.
std::string torch_need(const ChildEnvironment& environment, const std::vector<std::string>& program) {
  const std::string scripts = scripts_of(program);
  for (const TorchNeed& need : torch_needs()) {
    const bool found = need.in == TorchNeed::In::kArgument ? has_argument(program, need.text)
                       : need.in == TorchNeed::In::kScript ? scripts.find(need.text) != std::string::npos
                                                           : has_variable(environment, need.text);
    if (found) return fmt::format("{} asks for {}", need.text, need.what);
  }
  return "";
}

std::string text_of(const PresetOutcome::Set& set) { return fmt::format("{}={}", set.name, set.value); }

}  // namespace

std::vector<PresetOutcome> choose_presets(const ChildEnvironment& environment, const std::vector<std::string>& program,
                                          TorchChoice torch) {
  std::vector<PresetOutcome> outcomes;
  for (const Preset& preset : preset_table()) {
    const bool is_torch = std::string_view(preset.framework) == native_torch_preset().framework;
    std::string why;
    if (is_torch && torch == TorchChoice::kNative) why = "--torch native";
    if (is_torch && torch == TorchChoice::kAuto) why = torch_need(environment, program);
    outcomes.push_back(outcome_of(why.empty() ? preset : native_torch_preset(), environment));
    outcomes.back().why = why;
  }
  return outcomes;
}

void apply_presets(const std::vector<PresetOutcome>& outcomes, ChildEnvironment& environment) {
  for (const PresetOutcome& outcome : outcomes) {
    for (const auto& set : outcome.set) environment.set(set.name, set.value);
  }
}

std::string preset_summary(const PresetOutcome& outcome) {
  if (outcome.set.empty()) return outcome.left_for;
  std::string text;
  for (const auto& set : outcome.set) text += (text.empty() ? "" : " ") + text_of(set);
  return text;
}

bool may_use_frameworks(const std::vector<std::string>& program, const std::string& path,
                        const std::vector<std::string>& needed) {
  char start[2] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof(start));
  if (std::string_view(start, sizeof(start)) == "#!") return true;
  const auto contains = [](const std::string& text, std::initializer_list<std::string_view> parts) {
    return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != std::string::npos; });
  };
  return std::ranges::any_of(program,
                             [&](const std::string& word) {
                               return contains(word, {"python", ".py", ".sh", ".ipynb", "torchrun"});
                             }) ||
         std::ranges::any_of(needed, [&](const std::string& library) {
           return contains(library, {"libpython", "libtorch", "libc10", "tensorflow", "xla"});
         });
}

std::string torch_listener_folder(const ChildEnvironment& environment) {
  const std::string cache = environment.get("XDG_CACHE_HOME"), home = environment.get("HOME");
  if (cache.starts_with('/')) return cache + "/tessera/torch-listener";
  return home.starts_with('/') ? home + "/.cache/tessera/torch-listener" : "";
}

std::vector<std::string> preset_lines(const std::vector<PresetOutcome>& outcomes) {
  std::vector<std::string> lines;
  std::string set;
  for (const PresetOutcome& outcome : outcomes) {
    if (outcome.set.empty()) continue;
    set += fmt::format("{}{} {}{}{}", set.empty() ? "" : "; ", outcome.preset->framework, preset_summary(outcome),
                       outcome.set.front().added ? " (added to yours)" : "",
                       outcome.why.empty() ? "" : fmt::format(" ({})", outcome.why));
  }
  if (!set.empty()) lines.push_back(fmt::format("set for frameworks: {}; --no-presets leaves them out", set));
  for (const PresetOutcome& outcome : outcomes) {
    if (outcome.outcome.empty()) continue;
    lines.push_back(
        fmt::format("{}: {} is left as it is: {}", outcome.preset->framework, outcome.left_for, outcome.outcome));
  }
  return lines;
}
