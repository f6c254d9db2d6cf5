// A file that a report or a trace goes to, for as long as it is this process's own.
//
// Several processes may be told one name. The first has it, by a lock that ends with the process however that ends; the
// others take the name with their number in it, and say so. Files are never mapped: a process that cuts a file would end a
// process that has mapped it.
//
// What is no regular file works too: "-" is standard error, /dev/stdout and its kin the open descriptor itself, and a
// FIFO is waited for until it has a reader. A reader that goes away, or reads no more for kPatience, is an error; it
// is no signal and no endless wait.
//
// Thread safety: none; its owner's lock.
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

  // What a file that is not empty is: of an earlier run, and replaced; of another process of this run, and left alone; or
  // the caller's to replace, whichever process has it.
  enum class Left { kReplace, kKeep, kTake };

  // Creates the file, mode 0600, or empties it. Errors: kIo with the path and the reason.
  static Result<std::unique_ptr<OutputFile>> open(const std::string& path, Left left);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // With this process's number, if the name that was asked for is another's.
  const std::string& path() const { return path_; }
  // A file that can be read back, and written anywhere.
  bool is_regular() const { return is_regular_; }

  // At the end of the file. REQUIRES: replace() and write_at() are not called. Errors: kIo, such as a full disk: then
  // the file ends somewhere in `text`.
  Status append(std::string_view text);
  // The file is `text` and nothing else; what is not regular gets it appended. Errors: kIo.
  Status replace(std::string_view text);
  // REQUIRES: is_regular(). Errors: kIo.
  Status write_at(Bytes offset, std::string_view text);

 private:
  OutputFile(int file, std::string path, bool is_regular);
  Status send(std::string_view text);

  const int file_;
  const std::string path_;
  const bool is_regular_;
  const Bytes limit_;  // of the size of files of this process
  Bytes size_;         // appended, ever
};

// A path as the user sees it where several processes were given one: "run.json" is "run-1234.json".
std::string path_beside(const std::string& path, std::string_view mark);

}  // namespace tessera
