// The options of `tessera run`: those of the library (but `off`), and the software device.
// The library itself decides whether a value can be meant.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

class ChildEnvironment;

struct RunOptions {
  struct Setting {
    const char* name;      // the library's, "device-memory"
    const char* variable;  // "TESSERA_DEVICE_MEMORY"
    const char* value_name;
    const char* help;
    std::string value;     // "" when not given
  };

  RunOptions();
  void add_to(CLI::App& app);
  // Puts the value of the library's option `name`. REQUIRES: one of the settings has it.
  void set(const std::string& name, const std::string& value);
  // What is wrong with the values (and with TESSERA_... variables), or "".
  std::string complaint() const;
  // Hands everything to the library of the program that is started; paths become absolute, as
  // the program may change its folder.
  void apply(ChildEnvironment& environment) const;

  std::vector<Setting> settings;
  bool explain = false;
  bool no_control = false;
  bool software = false;
  std::string software_memory;
};

// `arguments` up to the program, and from it on. "--" ends the options and may be left out.
struct SplitLine {
  std::vector<std::string> options;
  std::vector<std::string> program;
};
SplitLine split_at_program(const std::vector<std::string>& arguments);
