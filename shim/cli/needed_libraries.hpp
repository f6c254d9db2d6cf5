// The libraries that a program depends on, read from its file.
//
// Thread safety: pure functions of files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

// In file order. Empty if the file is not 64-bit ELF (a script, for instance) or cannot be read.
std::vector<std::string> needed_libraries(const std::filesystem::path& program);

// Whether it is a 32-bit x86 program.
bool is_32_bit(const std::filesystem::path& program);
// Whether a program with these libraries is linked to musl's C library.
bool needs_musl(const std::vector<std::string>& needed);

// The file that exec starts for `name`: `name` itself if it contains a slash, else the first match in `search`, a
// colon-separated list of folders. "" if there is none.
std::filesystem::path find_program(const std::string& name, const std::string& search);
