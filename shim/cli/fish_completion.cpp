#include <fmt_whole.hpp>

#include "completion_command.hpp"

namespace {

std::string fish_text(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') result += '\\';
    result += letter;
  }
  return result;
}

// What follows `run` and its options is a command line of its own.
constexpr const char* kProgram = R"fish(function __tessera_program_words
    set -l words (commandline -opc)
    set -e words[1..2]
    while set -q words[1]
        switch $words[1]
            case --
                set -e words[1]
                break
            case {}
                set -e words[1]
                set -q words[1]; and set -e words[1]
            case '-*'
                set -e words[1]
            case '*'
                break
        end
    end
    string join \n -- $words
end
function __tessera_program
    complete -C "$(string join ' ' -- (string escape -- (__tessera_program_words)) (commandline -ct))"
end
)fish";

std::string program_functions(const Command& run) {
  std::vector<std::string> with_value;
  for (const CommandOption& option : run.options) {
    if (!option.value.empty()) with_value.push_back(option.name);
  }
  return fmt::format(kProgram, fmt::join(with_value, " "));
}

// Whether the cursor is at this command, and at none below it.
std::string condition(const Command& command) {
  std::string words = command.path.substr(std::min(command.path.size(), std::string("tessera ").size()));
  std::string result;
  for (std::size_t start = 0; start < words.size();) {
    const std::size_t end = std::min(words.find(' ', start), words.size());
    result += fmt::format("{}__fish_seen_subcommand_from {}", result.empty() ? "" : "; and ",
                          words.substr(start, end - start));
    start = end + 1;
  }
  std::vector<std::string> below;
  for (const Command& one : command.commands) below.push_back(one.name);
  if (command.path == "tessera run") result += "; and test -z \"$(__tessera_program_words)\"";
  if (below.empty()) return result;
  return fmt::format("{}{}not __fish_seen_subcommand_from {}", result, result.empty() ? "" : "; and ",
                     fmt::join(below, " "));
}

std::string values_of(const CommandOption& option) {
  if (option.value_may_lack) return "";
  switch (kind_of_value(option)) {
    case ValueKind::kNone: return "";
    case ValueKind::kFile: return " -r -F";
    case ValueKind::kFolder: return " -x -a '(__fish_complete_directories)'";
    case ValueKind::kChoice: return fmt::format(" -x -a '{}'", fmt::join(choices_of(option), " "));
    case ValueKind::kOther: break;
  }
  return " -x";
}

void add_lines(const Command& command, std::string& script) {
  const std::string start = fmt::format("complete -c tessera -n '{}'", condition(command));
  for (const CommandOption& option : command.options) {
    if (option.positional) {
      const ValueKind kind = kind_of_value(option);
      if (kind == ValueKind::kFile) script += fmt::format("{} -F\n", start);
      if (kind == ValueKind::kChoice) script += fmt::format("{} -a '{}'\n", start, fmt::join(choices_of(option), " "));
      continue;
    }
    const std::string letter = option.short_name.empty() ? "" : " -s " + option.short_name.substr(1);
    script += fmt::format("{}{} -l {}{} -d '{}'\n", start, letter, option.name.substr(2), values_of(option),
                          fish_text(option.help));
  }
  if (command.path == "tessera run") {
    script += "complete -c tessera -n '__fish_seen_subcommand_from run' -a '(__tessera_program)'\n";
  }
  for (const Command& below : command.commands) {
    script += fmt::format("{} -a {} -d '{}'\n", start, below.name, fish_text(below.help));
  }
  for (const Command& below : command.commands) add_lines(below, script);
}

}  // namespace

std::string fish_completion(const Command& root) {
  std::string script =
      "# Completion of tessera for fish; printed by `tessera completion fish`.\ncomplete -c tessera -f\n";
  for (const Command& below : root.commands) {
    if (below.path == "tessera run") script += program_functions(below);
  }
  add_lines(root, script);
  return script;
}
