#include "misspelt_words.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "nearest_word.hpp"

namespace {

std::string complaint(const std::string& kind, const std::string& word, const std::vector<std::string>& known,
                      const std::string& command) {
  const std::string nearest = nearest_word(word, known);
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
