// Which FileIo moves a spill file: found out by trying.
//
// Why by trying: containers, sysctls, limits and old kernels each take something else away, and none of them says
// so beforehand.
//
// Thread safety: stateless.
#pragma once

#include <memory>
#include <string>

#include "base/status.hpp"
#include "tier/file_io.hpp"

namespace tessera {

// A spill file of `size` bytes in `directory`, moved by io_uring; by threads where that cannot be had, with one line
// that says why. Errors: kIo with the directory and the reason.
Result<std::unique_ptr<FileIo>> open_file_io(const std::string& directory, Bytes size);

}  // namespace tessera
