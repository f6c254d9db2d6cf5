// A path to our files that can be passed to the dynamic linker.
//
// LD_PRELOAD separates entries by blanks and colons, LD_LIBRARY_PATH by colons and semicolons, and neither supports
// quoting. An installation with such a character in its path is reached through a symbolic link in a private folder of
// the user. The libraries find each other there too, as $ORIGIN follows the name by which a library was loaded.
//
// Thread safety: none.
#pragma once

#include <filesystem>
#include <string>

#include "installation.hpp"

struct LinkableInstallation {
  Installation installation;  // the given one if its path has no such character
  std::string problem;        // "" or why there is no such path
};

// The link stays for later runs: one for each installation, in `links`, a private folder of this user. Links to deleted
// installations are removed, as are temporary links of killed processes.
LinkableInstallation linkable_installation(const Installation& installation, const std::filesystem::path& links);
