// A file that grows by what is appended, and has it even if the process dies at the next instruction.
//
// Its end is mapped, so to append is to copy into the page cache, which outlives the process; a buffer of the process's own
// would die with it. Zeros follow, the part of the mapping that nobody came to, until the file is cut; for good if the
// process is killed. What cannot be mapped, such as a pipe, gets pieces of kPiece, or what there is at push().
//
// Thread safety: none; its owner's lock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

class AppendedFile {
 public:
  static constexpr std::size_t kPiece = 256 << 10;  // so much is mapped at a time; whole pages

  // Creates or replaces `path`, mode 0600. Errors: kIo with the path and the reason.
  static Result<std::unique_ptr<AppendedFile>> open(const std::string& path);
  // Cuts it.
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  // Errors: kIo, such as a full disk: then the file ends somewhere in `text`, and nothing more may be appended.
  Status append(std::string_view text);
  // Others see what was appended. Errors: kIo.
  Status push();
  // Likewise, and nothing follows it until more is appended.
  Status cut();
  Bytes size() const { return size_; }

 private:
  AppendedFile(int file, std::string path, bool is_mapped)
      : file_(file), path_(std::move(path)), is_mapped_(is_mapped) {}
  Status map_next();
  void unmap();

  const int file_;
  const std::string path_;
  const bool is_mapped_;
  Bytes size_;              // appended, ever
  char* window_ = nullptr;  // kPiece of the file, at a multiple of it; null: the next append maps it
  std::string buffer_;      // of what is not mapped
};

}  // namespace tessera
