// Programs into which the system preloads nothing, so that they would run without Tessera and without a word.
//
// Thread safety: a function of files and of this process's user.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

// Why nothing of ours comes into the program, or "". `needed`: needed_libraries() of it. What starts others, as a script
// or a launcher that is linked statically, is none: what it starts is preloaded.
std::string preload_obstacle(const std::filesystem::path& program, const std::vector<std::string>& needed);
