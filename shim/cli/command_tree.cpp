#include "command_tree.hpp"

#include <algorithm>

namespace {

// Without the range that a check adds: "INT:INT in [1 - 100000]" is INT.
std::string shown_value(const CLI::Option& option) {
  if (option.get_type_size_max() == 0) return "";
  const std::string type = option.get_type_name();
  const std::size_t check = type.find(':');
  const bool is_number = type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT");
  return is_number ? type.substr(0, check) : type;
}

CommandOption option_of(const CLI::Option& option) {
  CommandOption read;
  read.positional = option.get_positional();
  if (!option.get_snames().empty()) read.short_name = "-" + option.get_snames().front();
  read.name = read.positional ? option.get_name() : "--" + option.get_lnames().front();
  read.value = shown_value(option);
  read.variable = option.get_envname();
  read.help = option.get_description();
  read.required = option.get_required();
  read.value_may_lack = !read.value.empty() && option.get_expected_min() == 0;
  read.many = option.get_expected_max() > 1;
  return read;
}

Command command_of(const CLI::App& app, const std::string& parent) {
  Command command;
  command.name = app.get_name();
  command.path = parent.empty() ? command.name : parent + " " + command.name;
  command.help = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* const option : app.get_options()) command.options.push_back(option_of(*option));
  for (const CLI::App* const below : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(command_of(*below, command.path));
  }
  return command;
}

}  // namespace

Command command_tree(const CLI::App& app) { return command_of(app, ""); }

ValueKind kind_of_value(const CommandOption& option) {
  const std::string& value = option.value;
  if (value.empty()) return ValueKind::kNone;
  if (value == "FILE" || value == "PAGE") return ValueKind::kFile;
  if (value.starts_with("DIR")) return ValueKind::kFolder;
  const bool is_plain = std::all_of(value.begin(), value.end(), [](char letter) {
    return letter == '|' || letter == '-' || (letter >= 'a' && letter <= 'z');
  });
  return is_plain && value.find('|') != std::string::npos ? ValueKind::kChoice : ValueKind::kOther;
}

std::vector<std::string> choices_of(const CommandOption& option) {
  std::vector<std::string> choices;
  std::size_t start = 0;
  for (std::size_t end = 0; end != std::string::npos; start = end + 1) {
    end = option.value.find('|', start);
    choices.push_back(option.value.substr(start, end == std::string::npos ? end : end - start));
  }
  return choices;
}
