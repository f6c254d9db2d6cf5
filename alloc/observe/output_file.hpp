// An output file for a report or a trace, owned by this process.
//
// Several processes may be given the same name. The first takes it with a lock that ends with the process,
// however that ends. The others add their process number to the name and log a warning. Files are never mapped:
// if another process truncated the file, a mapping would kill this one.
//
// Files that are not regular work too: "-" is standard error, /dev/stdout and the like are the open descriptor
// itself, and a FIFO is waited for until it has a reader. A reader that goes away, or stops reading for
// kPatience, is an error, not a signal and not an endless wait.
//
// Thread safety: none; the owner locks.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

class OutputFile {
 public:
  static constexpr std::chrono::seconds kPatience{10};

  // What to do with a file that is not empty. kReplace: it is from an earlier run; overwrite it. kKeep: it
  // belongs to another process of this run; leave it alone. kTake: overwrite it even if another process holds
  // it.
  enum class Left { kReplace, kKeep, kTake };

  // Creates the file with mode 0600, or truncates it. Errors: kIo with the path and the reason.
  static Result<std::unique_ptr<OutputFile>> open(const std::string& path, Left left);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Contains this process's number if the requested name was taken.
  const std::string& path() const { return path_; }
  // A regular file can be read back and written at any offset.
  bool is_regular() const { return is_regular_; }

  // Writes at the end of the file. REQUIRES: neither replace() nor write_at() is used. Errors: kIo, such as a
  // full disk; the file then ends somewhere within `text`.
  Status append(std::string_view text);
  // Replaces the whole content by `text`; appends if the file is not regular. Errors: kIo.
  Status replace(std::string_view text);
  // REQUIRES: is_regular(). Errors: kIo.
  Status write_at(Bytes offset, std::string_view text);

 private:
  OutputFile(int file, std::string path, bool is_regular);
  Status send(std::string_view text);

  const int file_;
  const std::string path_;
  const bool is_regular_;
  const Bytes limit_;  // the process's limit on file size
  Bytes size_;         // total ever appended
};

// The path that a process uses if the name is taken: "run.json" with mark "1234" is "run-1234.json".
std::string path_beside(const std::string& path, std::string_view mark);

}  // namespace tessera
