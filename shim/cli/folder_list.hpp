// Folders for spill files, as in --file-dir and TESSERA_FILE_DIR: one, or several separated by ':'. A colon or
// backslash in a name is escaped by a backslash.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

// In list order; empty names are skipped. A list that names an existing folder is that folder, so that `--file-dir
// /data/a:b` needs no backslash.
std::vector<std::string> folders_in(const std::string& list);

// The inverse of folders_in(); the library reads the list as well.
std::string folder_list(const std::vector<std::string>& folders);
