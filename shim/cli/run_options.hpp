// The options of `tessera run`: the library's options (except `off`), and those of the software device. The library
// itself decides whether a value is valid.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "presets.hpp"

class ChildEnvironment;

struct RunOptions {
  struct Setting {
    const char* name;      // the library's, "device-memory"
    const char* variable;  // "TESSERA_DEVICE_MEMORY"
    const char* value_name;
    const char* help;
    std::string value;  // "" if not given
  };

  RunOptions();
  void add_to(CLI::App& app);
  // Sets the library's option `name`. REQUIRES: `settings` contains it.
  void set(const std::string& name, const std::string& value);
  // The error in the values or in TESSERA_... variables, or "".
  std::string complaint() const;
  // Passes all options on to the library in the started program; paths become absolute, as the program may change its
  // folder.
  void apply(ChildEnvironment& environment) const;

  // What --torch says. REQUIRES: complaint() is "".
  TorchChoice torch_choice() const;
  // Whether messages below errors are suppressed, by --log-level.
  bool is_silent() const;

  std::vector<Setting> settings;
  bool explain = false;
  bool no_control = false;
  bool no_presets = false;
  std::string torch;  // "" is auto
  bool software = false;
  std::string software_memory;
};

// The arguments before the program, and those from the program on. "--" ends the options and may be omitted.
struct SplitLine {
  std::vector<std::string> options;
  std::vector<std::string> program;
};
SplitLine split_at_program(const std::vector<std::string>& arguments);
