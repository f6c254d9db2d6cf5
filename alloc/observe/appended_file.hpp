// An append-only file that keeps what was appended even if the process dies at the next instruction.
//
// Each append is a write() and its bytes are in the page cache when it returns; bytes in a buffer of the process
// would be lost. A file that is not regular, such as a pipe, is written in pieces of kPiece, or as much as is
// buffered at push().
//
// Thread safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/units.hpp"
#include "observe/output_file.hpp"

namespace tessera {

class AppendedFile {
 public:
  static constexpr std::size_t kPiece = 256 << 10;

  // Same contract as OutputFile::open.
  static Result<std::unique_ptr<AppendedFile>> open(const std::string& path,
                                                    OutputFile::Left left = OutputFile::Left::kReplace);
  // Calls push().
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  // Errors: kIo, such as a full disk; the file then ends somewhere within `text`, and no more may be appended.
  Status append(std::string_view text);
  // Makes everything appended visible to other processes. Errors: kIo.
  Status push();
  Bytes size() const { return size_; }
  const std::string& path() const { return file_->path(); }

 private:
  explicit AppendedFile(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  const std::unique_ptr<OutputFile> file_;
  Bytes size_;          // total ever appended
  std::string buffer_;  // for files that are not regular
};

}  // namespace tessera
