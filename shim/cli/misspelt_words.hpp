// The complaint about a command or an option that does not exist: which word, what it was probably meant to be, and
// what lists those that exist.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

// "" if the first word is a command or an option.
std::string wrong_command(const CLI::App& app, const std::vector<std::string>& words);

// A problem with the words of a command, and its help.
std::string with_help_of(const CLI::App& app, const std::string& problem);

// After parsing ended with words left over. REQUIRES: there are some.
std::string wrong_words(const CLI::App& app);
