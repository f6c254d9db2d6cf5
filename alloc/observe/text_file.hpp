// Writes a report to a file; to the caller, either the whole text is written or the call fails.
//
// Thread safety: stateless; two writers of one path race as with any file.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace tessera {

// OutputFile::open followed by replace(). Readable by its owner only, since reports contain kernel names and
// sizes of the program. Errors: kIo with the path and the reason.
Status write_text_file(const std::string& path, std::string_view text);

// Replaces each "%p" in `path` by this process's number, so that processes started alike write separate files.
std::string path_of_process(std::string path);

// Writes all of `text` to an open file and retries short writes. Errors: kIo with `path`.
Status write_all(int file, std::string_view text, const std::string& path);

// The error of the last failed system call (errno) on `path`.
Status io_error(const std::string& path);

}  // namespace tessera
