// Folders for spill files, as --file-dir names them: one, or several with ':' between.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

// In their order; an empty name is none.
std::vector<std::string> folders_in(const std::string& list);
