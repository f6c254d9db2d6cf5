// What a program's file says of the libraries that it depends on, and of how it is linked.
//
// Thread safety: pure functions of files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

// In file order. Empty if the file is not 64-bit ELF (a script, for instance) or cannot be read.
std::vector<std::string> needed_libraries(const std::filesystem::path& program);

// kOther: a script, a file for another machine, or one that cannot be read.
enum class Linking { kOther, kDynamic, kStatic, k32Bit };
Linking linking_of(const std::filesystem::path& program);

// The file that exec starts for `name`: `name` itself if it contains a slash, else the first match in `search`, a
// colon-separated list of folders. "" if there is none.
std::filesystem::path find_program(const std::string& name, const std::string& search);
