// `tessera run [options] -- program arguments`: executes the program with Tessera preloaded.
//
// The program replaces this process (exec), so it has its own exit code, signals, terminal and process id. Messages go
// to standard error and start with "tessera: ".
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "child_environment.hpp"
#include "installation.hpp"
#include "run_options.hpp"

// Exit codes as in a shell: 127 if the program does not exist, 126 if it cannot be started; 2 for wrong options, 1 for
// a machine on which it cannot work. Does not return if the program starts.
int run_command(const Installation& installation, const RunOptions& options, const std::vector<std::string>& program);

// Adds what `tessera run` adds to the environment. Returns "" or the reason why it cannot work.
std::string prepare(const Installation& installation, const RunOptions& options, ChildEnvironment& environment);

// Makes programs started with `environment` find the software device.
void use_software_device(const Installation& installation, ChildEnvironment& environment);
