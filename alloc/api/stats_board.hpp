// Statistics as they were last, in the file that gets them at the end: for readers after the program was killed.
//
// Until then the file has two places that are written in turn, so that one is whole whatever moment the process dies
// at: a line with the update's number, and the text that tessera_stats_json gives. `tessera stats FILE` reads it. It is
// written, not mapped: a process that cuts the file ends no other.
//
// Thread safety: none; its owner's lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "observe/output_file.hpp"

namespace tessera {

class StatsBoard {
 public:
  static constexpr Bytes kPlace = 64_KiB;  // what does not fit is not shown
  static constexpr std::chrono::seconds kBetween{1};

  // REQUIRES: the file outlives it. What is no regular file has no board.
  explicit StatsBoard(OutputFile& file) : file_(file) {}

  // Whether it is time for an update; the next one is due kBetween after that.
  bool falls_due();
  // Errors: kIo; then nothing more is written.
  Status update(const std::string& figures);

 private:
  OutputFile& file_;
  std::chrono::steady_clock::time_point due_{};
  std::uint64_t updates_ = 0;
  bool ended_ = false;
};

}  // namespace tessera
