// Chooses the FileIo for a spill file, by trying.
//
// By trying, because containers, sysctls, limits and old kernels each disable something else, and none of that can be
// queried beforehand.
//
// Thread safety: stateless.
#pragma once

#include <memory>
#include <string>

#include "base/status.hpp"
#include "tier/file_io.hpp"

namespace tessera {

// A spill file of `size` bytes in `directory`, moved by io_uring; by threads where io_uring is not available, with one
// log line that says why. Errors: kIo with the directory and the reason.
Result<std::unique_ptr<FileIo>> open_file_io(const std::string& directory, Bytes size);

}  // namespace tessera
