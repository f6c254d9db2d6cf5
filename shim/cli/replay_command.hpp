// `tessera replay FILE [options]`: replays a trace through the allocator, on a machine in virtual time. With --share,
// several of them on one device.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

struct ReplayCommandOptions {
  struct Setting {
    const char* name;  // the library's option name, "device-memory"
    const char* variable;
    const char* value_name;
    const char* help;
    std::string value;  // "" if not given
    // A memory size of "auto", which `tessera run` accepts in the same variable, counts as not given.
    bool is_given() const;
  };

  ReplayCommandOptions();
  void add_to(CLI::App& app);

  std::vector<std::string> traces;
  std::vector<Setting> settings;
  bool share = false;
  bool json = false;
  bool list_policies = false;
};

// Adds the library's options to a command. REQUIRES: `settings` outlives `app`.
void add_settings(CLI::App& app, std::vector<ReplayCommandOptions::Setting>& settings);

// The result as a readable table. REQUIRES: `json` is a result of the library.
std::string replay_table(const std::string& json);
std::string shared_replay_table(const std::string& json);
std::string policy_table(const std::string& json);

int replay_command(const ReplayCommandOptions& options);
