// Makes the private file that pages are spilled to: nameless, mode 0600, gone with the process.
//
// Why nameless from the start: a file that is removed at exit stays behind after kill -9, with
// somebody's weights in it. Where no nameless file can be made (overlays of old kernels, NFS, FUSE, sandboxes), one
// is made under a random name and unlinked at once, while it is empty.
//
// Thread safety: SpillFile is owned by one; make_* are stateless.
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
  // Whether transfers go around the page cache (O_DIRECT).
  bool direct() const;

 private:
  int descriptor_ = -1;
};

// A file of `size` bytes that take no space yet. Says in one line when it cannot be direct.
// Errors: kIo with the directory and the reason.
Result<SpillFile> make_spill_file(const std::string& directory, Bytes size);

// The two ways in which make_spill_file makes one. Errors: kIo.
Result<SpillFile> make_nameless(const std::string& directory);
Result<SpillFile> make_unlinked(const std::string& directory);

// The most bytes that a file of this process may have (RLIMIT_FSIZE). Beyond it the system does not only refuse: its
// signal ends the program.
Bytes file_size_limit();

}  // namespace tessera
