// Which libraries a program names for itself, read from its file.
//
// Thread safety: pure functions of files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

// In the file's order. Empty for what is no 64-bit ELF file, such as a script, or cannot be read.
std::vector<std::string> needed_libraries(const std::filesystem::path& program);

// The file that exec starts for `name`: itself if there is a slash in it, else the first in `search`, a list of folders
// with colons between them. "" if there is none.
std::filesystem::path find_program(const std::string& name, const std::string& search);
