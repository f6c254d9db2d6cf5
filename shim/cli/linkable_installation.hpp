// A name for our files that the dynamic linker can be told.
//
// LD_PRELOAD separates its entries by blanks and colons, LD_LIBRARY_PATH by colons and semicolons, and neither can
// quote them. An installation whose path has one is reached through a symbolic link in a private folder of the user.
// The libraries find each other there too, as $ORIGIN is the name by which a library was loaded.
//
// Thread safety: none.
#pragma once

#include <filesystem>
#include <string>

#include "installation.hpp"

struct LinkableInstallation {
  Installation installation;  // the given one where its path has no such character
  std::string problem;        // "" or why there is no such name
};

// The link stays for later runs: one for each installation, in `links`, which is made for this user alone.
LinkableInstallation linkable_installation(const Installation& installation, const std::filesystem::path& links);
