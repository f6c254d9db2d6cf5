// The folder in which a user's ledgers are, and which files in it are trusted.
//
// Without an administrator it is private: `tessera-UID` with mode 0700, made by the first program, and ledgers have
// mode 0600. An administrator may make a folder `tessera` beside it instead that the members of a group share: its
// owner is root, its mode 2770, and ledgers in it belong to the group with mode 0660. Members of the group trust each
// other with the ledger (docs/several-programs.md#several-users).
//
// Thread safety: values.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>

namespace tessera {

struct LedgerFolder {
  std::string path;
  std::optional<gid_t> group;  // that shares it; nothing: it is private to the user

  // Of the folder and of a ledger in it, as fstat describes them.
  bool trusts_folder(const struct stat& found) const;
  bool trusts_file(const struct stat& found) const;
  mode_t file_mode() const { return group ? S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP : S_IRUSR | S_IWUSR; }
  const char* sharers() const { return group ? "the group of its folder" : "this user"; }
};

// The shared folder in `parent` if there is one that this process may use, else the private one, which need not exist.
LedgerFolder ledger_folder_in(const std::string& parent);

}  // namespace tessera
