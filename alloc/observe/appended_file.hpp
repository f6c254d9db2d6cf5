// A file that grows by what is appended, and has it even if the process dies at the next instruction.
//
// Each append is a write, whose bytes are in the page cache when it returns; a buffer of the process's own would die
// with it. What is no regular file, such as a pipe, gets pieces of kPiece, or what there is at push().
//
// Thread safety: none; its owner's lock.
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

  // As OutputFile::open.
  static Result<std::unique_ptr<AppendedFile>> open(const std::string& path,
                                                    OutputFile::Left left = OutputFile::Left::kReplace);
  // Pushes.
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  // Errors: kIo, such as a full disk: then the file ends somewhere in `text`, and nothing more may be appended.
  Status append(std::string_view text);
  // Others see what was appended. Errors: kIo.
  Status push();
  Bytes size() const { return size_; }
  const std::string& path() const { return file_->path(); }

 private:
  explicit AppendedFile(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  const std::unique_ptr<OutputFile> file_;
  Bytes size_;          // appended, ever
  std::string buffer_;  // of what is not regular
};

}  // namespace tessera
