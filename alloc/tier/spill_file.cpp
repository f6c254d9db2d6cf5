#include "tier/spill_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/core.h>
#include <linux/magic.h>

#include "base/descriptor.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

Status refused(const std::string& directory, const char* what, int error) {
  return Status(Code::kIo, fmt::format("spill directory {}: {}: {}", directory, what, std::strerror(error)));
}

// Not every file system supports O_DIRECT; without it transfers go through the page cache.
void try_direct(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0) static_cast<void>(::fcntl(descriptor, F_SETFL, flags | O_DIRECT));
}

void warn_where_slow(const SpillFile& file, const std::string& directory) {
  struct statfs system {};
  const bool known = ::fstatfs(file.descriptor(), &system) == 0;
  if (known && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)) {
    log_line(LogLevel::kWarning, "spill directory {} is in main memory: spilling frees no memory", directory);
  } else if (!file.direct()) {
    log_line(LogLevel::kWarning, "spill directory {}: no direct I/O, pages go through the page cache", directory);
  }
}

}  // namespace

SpillFile::~SpillFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool SpillFile::direct() const {
  const int flags = ::fcntl(descriptor_, F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0;
}

Result<SpillFile> make_spill_file(const std::string& directory, Bytes size) {
  if (size > file_size_limit()) return refused(directory, "the file size limit (ulimit -f) is lower", EFBIG);
  auto file = make_nameless(directory);
  // Systems report missing support for nameless files in many ways; any other problem also makes this call fail.
  if (!file.is_ok()) file = make_unlinked(directory);
  if (!file.is_ok()) return file;
  const int descriptor = file.value().descriptor();
  // Full length from the start: a write that extends the file takes the file system's slow path.
  if (::ftruncate(descriptor, static_cast<off_t>(size.value())) != 0) {
    return refused(directory, "cannot create a file of that size", errno);
  }
  try_direct(descriptor);
  warn_where_slow(file.value(), directory);
  return file;
}

Result<SpillFile> make_nameless(const std::string& directory) {
  const int descriptor = away_from_standard(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
  if (descriptor < 0) return refused(directory, "cannot create a file", errno);
  return SpillFile(descriptor);
}

Result<SpillFile> make_unlinked(const std::string& directory) {
  std::string path = directory + "/.tessera-spill-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return refused(directory, "cannot create a file", errno);
  if (::unlink(path.c_str()) != 0) {
    const int error = errno;
    ::close(descriptor);
    return refused(directory, "cannot unlink the file", error);
  }
  const int kept = away_from_standard(descriptor);
  if (kept < 0) return refused(directory, "cannot create a file", errno);
  return SpillFile(kept);
}

Bytes file_size_limit() {
  struct rlimit limit {};
  constexpr std::uint64_t kLargest = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return Bytes(kLargest);
  return Bytes(std::min<std::uint64_t>(limit.rlim_cur, kLargest));
}

}  // namespace tessera
