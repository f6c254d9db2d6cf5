#include "linkable_installation.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <functional>

#include <fmt/core.h>

namespace {

namespace fs = std::filesystem;

// Makes the folder, or checks that it is ours and closed to others: libraries preloaded from it run in the user's
// programs. Returns "" or the problem.
std::string make_private(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return std::strerror(errno);
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0) return std::strerror(errno);
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() || (facts.st_mode & 022) != 0) {
    return "not a directory that only this user can write to";
  }
  return "";
}

constexpr const char* kBegin = "at-";

// Whether the process that created it has had enough time to rename it.
bool is_old(const fs::path& link) {
  constexpr std::time_t kNamedSince = 60;  // seconds
  struct stat facts {};
  return ::lstat(link.c_str(), &facts) == 0 && ::time(nullptr) - facts.st_mtime > kNamedSince;
}

// Removes links only, and only in a folder that is ours; other files stay.
void sweep(const fs::path& links) {
  constexpr int kMostLooked = 256;
  struct stat facts {};
  if (::lstat(links.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid()) return;
  std::error_code error;
  int looked = 0;
  for (fs::directory_iterator entry(links, error), end; !error && entry != end && looked < kMostLooked;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename().string();
    if (!name.starts_with(kBegin) || !entry->is_symlink(error)) continue;
    ++looked;
    const bool unnamed = name.find('.') != std::string::npos;
    if (unnamed ? is_old(path) : !fs::exists(path, error)) fs::remove(path, error);
    error.clear();
  }
}

}  // namespace

LinkableInstallation linkable_installation(const Installation& installation, const fs::path& links) {
  sweep(links);
  const std::string root = installation.root.string();
  if (root.find_first_of(" \t\n:;") == std::string::npos) return {installation, ""};
  const auto failed = [&](const std::string& why) {
    return LinkableInstallation{
        installation, fmt::format("the dynamic linker cannot use {}, which contains a space or a colon, and {}: {}",
                                  root, links.string(), why)};
  };
  const std::string why = make_private(links);
  if (!why.empty()) return failed(why);
  const fs::path link = links / fmt::format("{}{:016x}", kBegin, std::hash<std::string>()(root));
  std::error_code error;
  if (fs::read_symlink(link, error) == installation.root) return {{link}, ""};
  // Renamed into place, so that a program starting meanwhile finds either the old or the new link.
  const fs::path made = fmt::format("{}.{}", link.string(), ::getpid());
  fs::create_directory_symlink(installation.root, made, error);
  if (!error) fs::rename(made, link, error);
  if (error) return failed(error.message());
  return {{link}, ""};
}
