#include "preload_obstacle.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fmt/core.h>

#include "needed_libraries.hpp"

namespace {

// Whether the program gains privileges that this user does not have: then the dynamic linker ignores LD_PRELOAD.
bool gains_rights(const char* program) {
  struct stat facts {};
  struct statvfs system {};
  if (::stat(program, &facts) != 0 || ::statvfs(program, &system) != 0 || (system.f_flag & ST_NOSUID) != 0)
    return false;
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
  const bool user = (facts.st_mode & S_ISUID) != 0 && facts.st_uid != ::getuid();
  const bool group = (facts.st_mode & S_ISGID) != 0 && (facts.st_mode & S_IXGRP) != 0 && facts.st_gid != ::getgid();
  const bool capable = ::getuid() != 0 && ::getxattr(program, "security.capability", nullptr, 0) > 0;
  return user || group || capable;
}

}  // namespace

std::string preload_obstacle(const std::filesystem::path& program, const std::vector<std::string>& needed) {
  if (program.empty()) return "";
  if (gains_rights(program.c_str())) {
    return fmt::format(
        "{} gets rights of its own (set-user-ID, set-group-ID or file capabilities), so the system preloads nothing "
        "into it: it runs without Tessera; put `tessera run` behind it, as in sudo tessera run -- program",
        program.string());
  }
  if (needs_musl(needed)) {
    return fmt::format(
        "{} is linked to musl's C library; Tessera's and CUDA's libraries need glibc and cannot be loaded into it: it "
        "and what it starts run without Tessera",
        program.string());
  }
  if (is_32_bit(program)) {
    return fmt::format(
        "{} is a 32-bit program: it runs without Tessera, and the loader reports a wrong ELF class; 64-bit programs "
        "that it starts run with Tessera",
        program.string());
  }
  return "";
}
