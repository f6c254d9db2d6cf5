#include "misspelt_words.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "tessera/tessera.h"

namespace {

// The known word that was meant, "" if that is not clear. All options begin with two dashes, which say nothing.
std::string nearest_of(const std::string& word, const std::vector<std::string>& known) {
  const auto without_dashes = [](const std::string& text) {
    return text.c_str() + std::min(text.find_first_not_of('-'), text.size());
  };
  std::vector<const char*> names;
  for (const std::string& one : known) names.push_back(without_dashes(one));
  const char* const nearest = tessera_nearest_word(without_dashes(word), names.data(), names.size());
  if (nearest == nullptr) return "";
  return known[static_cast<std::size_t>(std::ranges::find(names, nearest) - names.begin())];
}

std::string complaint(const std::string& kind, const std::string& word, const std::vector<std::string>& known,
                      const std::string& command) {
  const std::string nearest = nearest_of(word, known);
  const std::string meant = nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest);
  return fmt::format("unknown {} '{}'; {}`{} --help` lists them", kind, word, meant, command);
}

// The innermost command that was named, and its words after `tessera`.
const CLI::App& innermost(const CLI::App& app, std::string& command) {
  const CLI::App* last = &app;
  for (auto named = last->get_subcommands(); !named.empty(); named = last->get_subcommands()) {
    last = named.front();
    command += " " + last->get_name();
  }
  return *last;
}

}  // namespace

std::string wrong_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].empty() || words[0][0] == '-') return "";
  std::vector<std::string> known;
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
  }
  if (std::ranges::find(known, words[0]) != known.end()) return "";
  return complaint("command", words[0], known, app.get_name());
}

std::string with_help_of(const CLI::App& app, const std::string& problem) {
  std::string command = app.get_name();
  innermost(app, command);
  return fmt::format("{}; `{} --help` says what it takes", problem, command);
}

std::string wrong_words(const CLI::App& app) {
  std::string command = app.get_name();
  const CLI::App& named = innermost(app, command);
  const std::vector<std::string> left = app.remaining(true);
  const auto option = std::ranges::find_if(left, [](const std::string& word) { return word.starts_with('-'); });
  if (option == left.end()) {
    return fmt::format("'{}' is one argument too many; `{} --help` says what it takes", left.back(), command);
  }
  std::vector<std::string> known;
  for (const CLI::Option* const one : named.get_options()) {
    for (const std::string& name : one->get_lnames()) known.push_back("--" + name);
  }
  return complaint("option", option->substr(0, option->find('=')), known, command);
}
