// The subcommands and options of a command line as plain values, read from CLI11: for what describes them.
//
// Thread safety: values.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

struct CommandOption {
  std::string name;        // "--device-memory", or of a positional "file"
  std::string short_name;  // "-h", or ""
  std::string value;       // how its value is shown, "SIZE|N%"; "" for a flag
  std::string variable;    // the environment variable, or ""
  std::string help;
  bool positional = false, required = false, many = false;
  bool value_may_lack = false;
};

struct Command {
  std::string name;  // "arena"
  std::string path;  // "tessera plan arena"
  std::string help;
  std::string footer;
  std::vector<CommandOption> options;  // positionals are among them
  std::vector<Command> commands;
};

Command command_tree(const CLI::App& app);

// What can follow an option, by how its value is shown.
enum class ValueKind { kNone, kFile, kFolder, kChoice, kOther };
ValueKind kind_of_value(const CommandOption& option);
// REQUIRES: kChoice. "on|off" is two.
std::vector<std::string> choices_of(const CommandOption& option);
