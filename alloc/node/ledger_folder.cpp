#include "node/ledger_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/core.h>

namespace tessera {
namespace {

constexpr mode_t kOthers = S_IRWXO;
constexpr mode_t kGroupAndOthers = S_IRWXG | S_IRWXO;

// Of the shared folder: a file in it gets the folder's group (S_ISGID), and each member may remove it (no S_ISVTX).
bool is_shared_by_its_group(const struct stat& found) {
  const mode_t needed = S_ISGID | S_IRWXU | S_IRWXG;
  return S_ISDIR(found.st_mode) && found.st_uid == 0 && (found.st_mode & (needed | S_ISVTX | kOthers)) == needed;
}

}  // namespace

bool LedgerFolder::trusts_folder(const struct stat& found) const {
  if (group) return is_shared_by_its_group(found) && found.st_gid == *group;
  return S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() && (found.st_mode & kGroupAndOthers) == 0;
}

bool LedgerFolder::trusts_file(const struct stat& found) const {
  if (!S_ISREG(found.st_mode)) return false;
  if (group) return found.st_gid == *group && (found.st_mode & kOthers) == 0;
  return found.st_uid == ::geteuid() && (found.st_mode & kGroupAndOthers) == 0;
}

LedgerFolder ledger_folder_in(const std::string& parent) {
  std::string shared = parent + "/tessera";
  struct stat found {};
  const bool is_usable = ::lstat(shared.c_str(), &found) == 0 && is_shared_by_its_group(found) &&
                         ::faccessat(AT_FDCWD, shared.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) == 0;
  if (is_usable) return {std::move(shared), found.st_gid};
  return {fmt::format("{}/tessera-{}", parent, ::geteuid()), {}};
}

}  // namespace tessera
