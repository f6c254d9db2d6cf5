#include "observe/appended_file.hpp"

#include <utility>

#include "base/log.hpp"

namespace tessera {

Result<std::unique_ptr<AppendedFile>> AppendedFile::open(const std::string& path, OutputFile::Left left) {
  std::unique_ptr<OutputFile> file;
  TESSERA_TRY_ASSIGN(file, OutputFile::open(path, left));
  return std::unique_ptr<AppendedFile>(new AppendedFile(std::move(file)));
}

AppendedFile::~AppendedFile() {
  const Status status = push();
  if (!status.is_ok()) log_line(LogLevel::kWarning, "{}: the end of the file may be lost", status.message());
}

Status AppendedFile::append(std::string_view text) {
  size_ += Bytes(text.size());
  if (file_->is_regular()) return file_->append(text);
  buffer_ += text;
  return buffer_.size() < kPiece ? Status() : push();
}

Status AppendedFile::push() {
  const Status written = buffer_.empty() ? Status() : file_->append(buffer_);
  buffer_.clear();
  return written;
}

}  // namespace tessera
