// Folders for spill files, as --file-dir and TESSERA_FILE_DIR name them: one, or several with ':' between. A colon
// or backslash of a name has a backslash before it.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

// In their order; an empty name is none. A list that is the name of an existing folder is that folder, so that
// `--file-dir /data/a:b` needs no backslash.
std::vector<std::string> folders_in(const std::string& list);

// The list of these folders: folders_in() reads it back, and so does the library.
std::string folder_list(const std::vector<std::string>& folders);
