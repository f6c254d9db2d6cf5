// `tessera run [options] -- program arguments`: becomes the program, with Tessera preloaded.
//
// The program replaces this process (exec), so exit code, signals, terminal and process id are its
// own. What is said goes to standard error and starts with "tessera: ".
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "child_environment.hpp"
#include "installation.hpp"
#include "run_options.hpp"

// As a shell has it: 127 when the program is not there, 126 when it cannot be started; 2 for wrong
// options, 1 for a machine on which it cannot work. Does not return when the program starts.
int run_command(const Installation& installation, const RunOptions& options,
                const std::vector<std::string>& program);

// Adds what `tessera run` adds. "" or what keeps it from working.
std::string prepare(const Installation& installation, const RunOptions& options,
                    ChildEnvironment& environment);

// Lets a program of this process's choice find the software device.
void use_software_device(const Installation& installation, ChildEnvironment& environment);
