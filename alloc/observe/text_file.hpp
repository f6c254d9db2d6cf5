// Writes a report to a file, whole or not at all as far as the caller can tell.
//
// Thread safety: stateless; two writers of one path race as with any file.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace tessera {

// As OutputFile::open and replace(): readable by its owner only, since reports name kernels and sizes of a program. Errors:
// kIo with the path and the reason.
Status write_text_file(const std::string& path, std::string_view text);

// `path` with this process's number for each "%p": processes that are started alike have a file each.
std::string path_of_process(std::string path);

// All of `text` to an open file, also over short writes. Errors: kIo with `path`.
Status write_all(int file, std::string_view text, const std::string& path);

// What the system call that failed last says of `path`.
Status io_error(const std::string& path);

}  // namespace tessera
