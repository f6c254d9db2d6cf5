// `tessera completion bash|zsh|fish`: prints the completion of the command line for a shell, made of its options.
//
// Thread safety: functions of values.
#pragma once

#include <string>

#include "command_tree.hpp"

// The script for the shell: its interactive sessions source it, or load it from where it is installed.
std::string bash_completion(const Command& root);
std::string zsh_completion(const Command& root);
std::string fish_completion(const Command& root);

// Prints it. REQUIRES: `shell` is one of the three. Returns the exit code.
int completion_command(const std::string& shell, const Command& root);
