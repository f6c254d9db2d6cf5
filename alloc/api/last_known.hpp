// The latest state of a report, stored in the file that gets the report at the end: for readers after the program was
// killed.
//
// Until the end, the file begins with two lines of kLine bytes, written in turn: each has the number of an update, and
// where its text is. A text is written to a part of the file that the newest line does not name, and its own line
// follows. So one update is complete whenever the process dies. `tessera recover FILE` restores it. The file is
// written, not mapped: a process that truncates it cannot crash another.
//
// Thread safety: none; its owner's lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "observe/output_file.hpp"

namespace tessera {

class LastKnown {
 public:
  static constexpr Bytes kLine{128}, kTexts{4096};  // length of a line; where texts begin
  static constexpr Bytes kMost = 64_MiB;            // longer texts are not stored; the file has three times as much
  static constexpr Nanoseconds kBetween{1'000'000'000};
  static constexpr std::uint64_t kShare = 100;  // updates take at most one part in so many of the time

  // REQUIRES: the file outlives it. Only a regular file keeps updates.
  explicit LastKnown(OutputFile& file) : file_(file) {}

  bool is_due(Nanoseconds now) const { return !ended_ && file_.is_regular() && now >= due_; }
  // Stores `text`. Errors: kIo; nothing more is stored then.
  Status update(std::string_view text);
  // The next update is due kBetween after `ended`, or later if this one took long.
  void wait_after(Nanoseconds began, Nanoseconds ended);

 private:
  OutputFile& file_;
  Nanoseconds due_;
  Bytes begin_ = kTexts, end_ = kTexts;  // of the newest text
  std::uint64_t updates_ = 0;
  bool ended_ = false;
};

}  // namespace tessera
