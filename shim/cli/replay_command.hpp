// `tessera replay FILE [options]`: a trace through the allocator, on a machine in virtual time.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

struct ReplayCommandOptions {
  struct Setting {
    const char* name;  // the library's, "device-memory"
    const char* variable;
    const char* value_name;
    const char* help;
    std::string value;  // "" when not given
    // An amount of memory that is "auto", as `tessera run` takes it from the same variable, is none.
    bool is_given() const;
  };

  ReplayCommandOptions();
  void add_to(CLI::App& app);

  std::string trace;
  std::vector<Setting> settings;
  bool json = false;
  bool list_policies = false;
};

// The library's options as options of a command. REQUIRES: `settings` outlives `app`.
void add_settings(CLI::App& app, std::vector<ReplayCommandOptions::Setting>& settings);

// The result for people. REQUIRES: `json` is a result of the library.
std::string replay_table(const std::string& json);
std::string policy_table(const std::string& json);

int replay_command(const ReplayCommandOptions& options);
