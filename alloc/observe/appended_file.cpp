#include "observe/appended_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"
#include "observe/text_file.hpp"

namespace tessera {

Result<std::unique_ptr<AppendedFile>> AppendedFile::open(const std::string& path) {
  TESSERA_TRY_ASSIGN(const int file, open_private_file(path));
  struct stat info {};
  const bool is_mapped = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  return std::unique_ptr<AppendedFile>(new AppendedFile(file, path, is_mapped));
}

AppendedFile::~AppendedFile() {
  Status status = cut();
  if (::close(file_) != 0) status = io_error(path_);  // close() can be the call that reports a full disk
  if (!status.is_ok()) log_line(LogLevel::kWarning, "{}: the end may be lost", status.message());
}

Status AppendedFile::append(std::string_view text) {
  if (!is_mapped_) {
    size_ += Bytes(text.size());
    buffer_ += text;
    return buffer_.size() < kPiece ? Status() : push();
  }
  while (!text.empty()) {
    if (window_ == nullptr) TESSERA_TRY(map_next());
    const std::size_t at = size_.value() % kPiece;
    const std::size_t fits = std::min(text.size(), kPiece - at);
    std::memcpy(window_ + at, text.data(), fits);
    text.remove_prefix(fits);
    size_ += Bytes(fits);
    if (at + fits == kPiece) unmap();
  }
  return {};
}

Status AppendedFile::push() {
  const Status written = write_all(file_, buffer_, path_);
  buffer_.clear();
  return written;
}

Status AppendedFile::cut() {
  unmap();
  if (!is_mapped_) return push();
  return ::ftruncate(file_, static_cast<off_t>(size_.value())) == 0 ? Status() : io_error(path_);
}

// The disk has to have the room now: a write into a mapping cannot say that there is none. A piece ahead, so that zeros
// follow also what is cut where a piece ends.
Status AppendedFile::map_next() {
  const auto at = static_cast<off_t>(size_.value() / kPiece * kPiece);
  const int refused = ::posix_fallocate(file_, at, 2 * kPiece);
  if (refused != 0) {
    errno = refused;
    return io_error(path_);
  }
  void* const window = ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED, file_, at);
  if (window == MAP_FAILED) return io_error(path_);
  window_ = static_cast<char*>(window);
  return {};
}

void AppendedFile::unmap() {
  if (window_ != nullptr && ::munmap(window_, kPiece) != 0) {
    log_line(LogLevel::kWarning, "{}: a piece stays mapped: {}", path_, std::strerror(errno));
  }
  window_ = nullptr;
}

}  // namespace tessera
