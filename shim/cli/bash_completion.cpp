#include <fmt_whole.hpp>

#include "completion_command.hpp"

namespace {

// Words are those of the cursor's command: options with a value are skipped with it, and what follows `run` and its
// options is a command line of its own.
constexpr const char* kHead = R"(# Completion of tessera for bash; printed by `tessera completion bash`.
_tessera_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_tessera_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen "$1" -- "$cur"); }
_tessera_program() {
  if declare -F _command_offset >/dev/null; then _command_offset "$1"
  elif ((COMP_CWORD == $1)); then mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  else _tessera_files -f; fi
}
_tessera() {
  local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} command=tessera place=1 word
  COMPREPLY=()
  while ((place < COMP_CWORD)); do
    word=${COMP_WORDS[place]}
    case "$command $word" in
)";

constexpr const char* kMiddle = R"(      "tessera run --") _tessera_program $((place + 1)); return ;;
      "tessera run -"*) ;;
      "tessera run "*) _tessera_program $place; return ;;
    esac
    ((place++))
  done
  [[ $cur == = ]] && cur=
  [[ $option == = ]] && option=${COMP_WORDS[COMP_CWORD-2]}
  case "$command $option" in
)";

void add_steps(const Command& command, std::string& script) {
  for (const Command& below : command.commands) {
    script += fmt::format("      \"{} {}\") command=\"{}\" ;;\n", command.path, below.name, below.path);
  }
  for (const CommandOption& option : command.options) {
    if (option.positional || option.value.empty() || option.value_may_lack) continue;
    script += fmt::format("      \"{} {}\") ((place++)); [[ ${{COMP_WORDS[place]}} == = ]] && ((place++)) ;;\n",
                          command.path, option.name);
  }
  for (const Command& below : command.commands) add_steps(below, script);
}

std::string bash_reply(const CommandOption& option) {
  switch (kind_of_value(option)) {
    case ValueKind::kFile: return "_tessera_files -f";
    case ValueKind::kFolder: return "_tessera_files -d";
    case ValueKind::kChoice: return fmt::format("_tessera_words \"{}\"", fmt::join(choices_of(option), " "));
    case ValueKind::kNone:
    case ValueKind::kOther: break;
  }
  return ":";
}

void add_values(const Command& command, std::string& script) {
  for (const CommandOption& option : command.options) {
    if (option.positional || option.value.empty() || option.value_may_lack) continue;
    script += fmt::format("    \"{} {}\") {}; return ;;\n", command.path, option.name, bash_reply(option));
  }
  for (const Command& below : command.commands) add_values(below, script);
}

// After options: subcommands, or what the positional arguments are.
void add_words(const Command& command, std::string& script) {
  std::vector<std::string> options, words;
  std::string reply = ":";
  for (const CommandOption& option : command.options) {
    if (option.positional) {
      reply = bash_reply(option);
    } else {
      options.push_back(option.name);
    }
  }
  for (const Command& below : command.commands) words.push_back(below.name);
  if (!words.empty()) reply = fmt::format("_tessera_words \"{}\"", fmt::join(words, " "));
  if (command.path == "tessera run") reply = "_tessera_program $place";
  script += fmt::format("    \"{}\") if [[ $cur == -* ]]; then _tessera_words \"{}\"; else {}; fi ;;\n", command.path,
                        fmt::join(options, " "), reply);
  for (const Command& below : command.commands) add_words(below, script);
}

}  // namespace

std::string bash_completion(const Command& root) {
  std::string script = kHead;
  add_steps(root, script);
  script += kMiddle;
  add_values(root, script);
  script += "  esac\n  case \"$command\" in\n";
  add_words(root, script);
  script += "  esac\n}\ncomplete -F _tessera tessera\n";
  return script;
}
