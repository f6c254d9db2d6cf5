#include <algorithm>

#include <fmt_whole.hpp>

#include "completion_command.hpp"

namespace {

// Inside a specification of _arguments, in single quotes.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\'') {
      result += "'\\''";
    } else {
      if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') result += '\\';
      result += letter;
    }
  }
  return result;
}

std::string action_of(const CommandOption& option) {
  switch (kind_of_value(option)) {
    case ValueKind::kFile: return "_files";
    case ValueKind::kFolder: return "_files -/";
    case ValueKind::kChoice: return fmt::format("({})", fmt::join(choices_of(option), " "));
    case ValueKind::kNone:
    case ValueKind::kOther: break;
  }
  return " ";
}

std::string specification(const CommandOption& option) {
  const std::string value = fmt::format(":{}:{}", zsh_text(option.value), action_of(option));
  if (option.positional) return fmt::format("'{}{}'", option.many ? "*" : option.required ? "" : ":", value);
  if (option.value.empty()) return fmt::format("'{}[{}]'", option.name, zsh_text(option.help));
  if (option.value_may_lack) return fmt::format("'{}[{}]:{}'", option.name, zsh_text(option.help), value);
  return fmt::format("'{}=[{}]{}'", option.name, zsh_text(option.help), value);
}

std::string function_name(const Command& command) {
  std::string name = "_" + command.path;
  std::replace(name.begin(), name.end(), ' ', '_');
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void add_function(const Command& command, std::string& script) {
  for (const Command& below : command.commands) add_function(below, script);
  script += fmt::format("{}() {{\n", function_name(command));
  if (!command.commands.empty()) script += "  local line state\n";
  script += command.commands.empty() ? "  _arguments -S" : "  _arguments -S -C";
  for (const CommandOption& option : command.options) script += " \\\n    " + specification(option);
  if (command.path == "tessera run") script += " \\\n    '(-)*:::program:_normal'";
  if (!command.commands.empty()) {
    script +=
        " \\\n    '1:command:->command' '*::argument:->argument'\n  case $state in\n    command) local -a commands=(\n";
    for (const Command& below : command.commands) {
      script += fmt::format("      '{}:{}'\n", below.name, zsh_text(below.help));
    }
    script += "      ); _describe command commands ;;\n    argument) case $line[1] in\n";
    for (const Command& below : command.commands) {
      script += fmt::format("      {}) {} ;;\n", below.name, function_name(below));
    }
    script += "    esac ;;\n  esac";
  }
  script += "\n}\n";
}

}  // namespace

std::string zsh_completion(const Command& root) {
  std::string script = "#compdef tessera\n# Completion of tessera for zsh; printed by `tessera completion zsh`.\n";
  add_function(root, script);
  // Sourced it registers itself; loaded from $fpath it is called.
  script += "if [[ ${funcstack[1]} == _tessera ]]; then _tessera \"$@\"; else compdef _tessera tessera; fi\n";
  return script;
}
