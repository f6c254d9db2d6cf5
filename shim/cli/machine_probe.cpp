#include "machine_probe.hpp"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace {

// Without O_TMPFILE the file tier unlinks a file right after creating it. Returns 0, or errno.
int make_unlinked(const std::string& folder, bool& direct) {
  std::string path = folder + "/.tessera-doctor-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) return errno;
  const int refusal = ::unlink(path.c_str()) == 0 ? 0 : errno;
  direct = ::fcntl(file, F_SETFL, O_DIRECT) == 0;
  ::close(file);
  return refusal;
}

bool can_open(const std::string& folder, int flags) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (file < 0) return false;
  return ::close(file) == 0;
}

// The file tier's ring size: whether the limit on locked memory suffices depends on it.
constexpr unsigned kRingEntries = 128;

bool is_filtered(const std::string& status) {
  std::ifstream lines(status);
  for (std::string word; lines >> word;) {
    int mode = 0;
    if (word == "Seccomp:" && lines >> mode) return mode != 0;
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> locked_memory_limit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

std::string huge_pages_mode(const std::string& file) {
  std::ifstream modes(file);
  // The file lists all modes, with the active one in brackets.
  for (std::string word; modes >> word;) {
    if (word.size() > 2 && word.front() == '[' && word.back() == ']') return word.substr(1, word.size() - 2);
  }
  return "";
}

UringFacts probe_io_uring(const std::string& sysctl, const std::string& status) {
  UringFacts facts;
  facts.locked_limit = locked_memory_limit();
  std::ifstream(sysctl) >> facts.sysctl;
  facts.filtered = is_filtered(status);
  const auto refused = [&facts](const char* call) { facts.call = call, facts.refusal = errno; };
  struct io_uring_params parameters {};
  const long ring = ::syscall(SYS_io_uring_setup, kRingEntries, &parameters);
  if (ring < 0) return refused("io_uring_setup"), facts;
  // Neither call has an effect: a filter may refuse only these calls.
  std::array<io_uring_probe, 1> nothing{};
  if (::syscall(SYS_io_uring_enter, ring, 0, 0, 0, nullptr, 0) < 0) {
    refused("io_uring_enter");
  } else if (::syscall(SYS_io_uring_register, ring, IORING_REGISTER_PROBE, nothing.data(), 0) < 0 && errno != EINVAL) {
    refused("io_uring_register");
  }
  ::close(static_cast<int>(ring));
  return facts;
}

FolderFacts probe_folder(const std::string& path) {
  FolderFacts facts;
  facts.path = path;
  struct statvfs space {};
  struct statfs kind {};
  if (::statvfs(path.c_str(), &space) != 0 || ::statfs(path.c_str(), &kind) != 0) {
    facts.problem = std::strerror(errno);
    return facts;
  }
  facts.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  facts.in_memory = kind.f_type == TMPFS_MAGIC || kind.f_type == RAMFS_MAGIC;
  if (::access(path.c_str(), W_OK | X_OK) != 0) {
    facts.problem = std::strerror(errno);
    return facts;
  }
  facts.nameless = can_open(path, 0);
  if (facts.nameless) {
    facts.direct = can_open(path, O_DIRECT);
  } else if (const int refusal = make_unlinked(path, facts.direct); refusal != 0) {
    facts.problem = std::strerror(refusal);
  }
  return facts;
}

FolderFacts choose_spill_folder() {
  FolderFacts best;
  best.problem = "no writable directory";
  std::error_code error;
  for (const std::string& path :
       {std::string("/var/tmp"), std::string("/tmp"), std::filesystem::current_path(error).string()}) {
    FolderFacts facts = probe_folder(path);
    if (facts.fit()) return facts;
    if (facts.problem.empty()) best = facts;
  }
  return best;
}
