#include "linkable_installation.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include <fmt/format.h>

namespace {

namespace fs = std::filesystem;

// Makes the folder, or checks that it is ours and closed to others: libraries preloaded from it run in the user's
// programs. Returns "" or the problem.
std::string make_private(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return std::strerror(errno);
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0) return std::strerror(errno);
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() || (facts.st_mode & 022) != 0) {
    return "it is not a folder that only this user can write to";
  }
  return "";
}

}  // namespace

LinkableInstallation linkable_installation(const Installation& installation, const fs::path& links) {
  const std::string root = installation.root.string();
  if (root.find_first_of(" \t\n:;") == std::string::npos) return {installation, ""};
  const auto failed = [&](const std::string& why) {
    return LinkableInstallation{
        installation, fmt::format("the linker cannot be told of {}, which has a blank or a colon, and {}: {}", root,
                                  links.string(), why)};
  };
  const std::string why = make_private(links);
  if (!why.empty()) return failed(why);
  const fs::path link = links / fmt::format("at-{:016x}", std::hash<std::string>()(root));
  std::error_code error;
  if (fs::read_symlink(link, error) == installation.root) return {{link}, ""};
  // Renamed into place, so that a program starting meanwhile finds either the old or the new link.
  const fs::path made = fmt::format("{}.{}", link.string(), ::getpid());
  fs::create_directory_symlink(installation.root, made, error);
  if (!error) fs::rename(made, link, error);
  if (error) return failed(error.message());
  return {{link}, ""};
}
