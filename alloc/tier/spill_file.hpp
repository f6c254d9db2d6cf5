// Makes the private file that pages are spilled to: nameless, mode 0600, gone with the process.
//
// Nameless from the start, because a file that is removed at exit remains after kill -9, possibly with confidential
// weights in it. Where nameless files are not supported (overlays of old kernels, NFS, FUSE, sandboxes), the file is
// created under a random name and unlinked at once, while it is empty.
//
// Thread safety: SpillFile has one owner; make_* are stateless.
#pragma once

#include <string>
#include <utility>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

// An open file descriptor; closed with the object.
class SpillFile {
 public:
  SpillFile() = default;
  explicit SpillFile(int descriptor) : descriptor_(descriptor) {}
  ~SpillFile();
  SpillFile(SpillFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  SpillFile& operator=(SpillFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  int descriptor() const { return descriptor_; }
  // Whether transfers bypass the page cache (O_DIRECT).
  bool direct() const;

 private:
  int descriptor_ = -1;
};

// A file of `size` bytes that takes no disk space yet. Logs one line when it cannot bypass the page cache. Errors: kIo
// with the directory and the reason.
Result<SpillFile> make_spill_file(const std::string& directory, Bytes size);

// The two implementations behind make_spill_file. Errors: kIo.
Result<SpillFile> make_nameless(const std::string& directory);
Result<SpillFile> make_unlinked(const std::string& directory);

// The maximum size of a file of this process (RLIMIT_FSIZE). A write beyond it is not only refused: its signal ends the
// program.
Bytes file_size_limit();

}  // namespace tessera
