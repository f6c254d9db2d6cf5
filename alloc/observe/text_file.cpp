#include "observe/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/descriptor.hpp"
#include "base/log.hpp"

namespace tessera {

Status io_error(const std::string& path) {
  return Status(Code::kIo, fmt::format("{}: {}", path, std::strerror(errno)), errno);
}

std::string path_of_process(std::string path) {
  const std::string number = std::to_string(::getpid());
  for (auto at = path.find("%p"); at != std::string::npos; at = path.find("%p", at + number.size())) {
    path.replace(at, 2, number);
  }
  return path;
}

Result<int> open_private_file(const std::string& path) {
  const int file = away_from_standard(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file < 0) return io_error(path);
  return file;
}

Status write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error(path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status::ok();
}

Status write_text_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    if (has_standard_error()) return write_all(STDERR_FILENO, text, "standard error");
    return Status(Code::kIo, "standard error is closed", EBADF);
  }
  TESSERA_TRY_ASSIGN(const int file, open_private_file(path));
  const Status written = write_all(file, text, path);
  // close() can be the call that reports a full disk.
  if (::close(file) != 0 && written.is_ok()) return io_error(path);
  return written;
}

}  // namespace tessera
