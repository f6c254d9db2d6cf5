// Programs into which nothing can be preloaded, so that they run without Tessera.
//
// Thread safety: any thread; the result depends on files and on this process's user.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

// Why the program cannot be preloaded, or "". `needed` is its needed_libraries(). A script or a statically linked
// launcher is not an obstacle: the programs that it starts are preloaded.
std::string preload_obstacle(const std::filesystem::path& program, const std::vector<std::string>& needed);
