#include "observe/text_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/core.h>

#include "observe/output_file.hpp"

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
  std::unique_ptr<OutputFile> file;
  TESSERA_TRY_ASSIGN(file, OutputFile::open(path, OutputFile::Left::kTake));
  return file->replace(text);
}

}  // namespace tessera
