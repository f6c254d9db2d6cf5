#include "man_page.hpp"

#include <algorithm>

#include <fmt_whole.hpp>

namespace {

// Text in roff: a hyphen that is typed is "\-", and no line begins with a control character.
std::string roff(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else if (letter == '`') {
      result += '"';
    } else {
      result += letter;
    }
  }
  if (result.starts_with('.') || result.starts_with('\'')) result.insert(0, "\\&");
  return result;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (!text.ends_with('.')) text += '.';
  return text;
}

std::string synopsis(const Command& command) {
  std::string line = bold(command.path) + " [" + italic("options") + "]";
  for (const CommandOption& option : command.options) {
    if (!option.positional) continue;
    const std::string shown = italic(option.name) + (option.many ? " ..." : "");
    line += option.required ? " " + shown : " [" + shown + "]";
  }
  if (!command.commands.empty()) line += " " + italic("command") + " ...";
  if (command.path == "tessera run") line += " \\-\\- " + italic("program") + " [" + italic("arguments") + "]";
  return line;
}

std::string entry(const CommandOption& option, const std::map<std::string, std::string>& details) {
  std::string head = option.positional ? italic(option.name) : bold(option.name);
  if (!option.short_name.empty()) head = bold(option.short_name) + ", " + head;
  if (!option.positional && !option.value.empty()) {
    head += option.value_may_lack ? " [" + italic(option.value) + "]" : " " + italic(option.value);
  }
  std::string text = fmt::format(".TP\n{}\n{}\n", head, roff(sentence(option.help)));
  if (const auto more = details.find(option.name); more != details.end()) {
    text += fmt::format(".IP\n{}\n", roff(more->second));
  }
  if (!option.variable.empty()) text += fmt::format(".IP\nEnvironment variable: {}.\n", bold(option.variable));
  return text;
}

void add_names(const Command& command, const Command& but, std::vector<std::string>& names) {
  if (command.path != but.path) names.push_back(fmt::format("\\fB{}\\fR(1)", roff(man_page_name(command))));
  for (const Command& below : command.commands) add_names(below, but, names);
}

}  // namespace

std::string man_page_name(const Command& command) {
  std::string name = command.path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string man_page(const Command& command, const Command& root, const std::map<std::string, std::string>& details,
                     const std::string& version) {
  const std::string name = man_page_name(command);
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char letter) { return static_cast<char>(std::toupper(static_cast<unsigned char>(letter))); });
  std::string page = fmt::format(".TH {} 1 \"\" \"tessera {}\" \"Tessera\"\n.SH NAME\n{} \\- {}\n", roff(upper),
                                 version, roff(name), roff(command.help));
  page += fmt::format(".SH SYNOPSIS\n{}\n", synopsis(command));
  if (!command.footer.empty()) page += fmt::format(".SH DESCRIPTION\n{}\n", roff(command.footer));
  if (!command.commands.empty()) page += ".SH COMMANDS\n";
  for (const Command& below : command.commands) {
    page += fmt::format(".TP\n{}\n{}\n", bold(below.name), roff(sentence(below.help)));
  }
  page += ".SH OPTIONS\n";
  for (const CommandOption& option : command.options) page += entry(option, details);
  std::vector<std::string> names;
  add_names(root, command, names);
  return page + fmt::format(".SH SEE ALSO\n{}\n", fmt::join(names, ",\n"));
}
