// The latest statistics, stored in the file that gets them at the end: for readers after the program was killed.
//
// Until the end the file has two places that are written in turn, so that one is complete whenever the process dies: a
// line with the number of the update, and the text of tessera_stats_json. `tessera stats FILE` reads it. The file is
// written, not mapped: a process that truncates it cannot crash another.
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
  static constexpr Bytes kPlace = 64_KiB;  // longer texts are not stored
  static constexpr std::chrono::seconds kBetween{1};

  // REQUIRES: the file outlives it. Only a regular file has a board.
  explicit StatsBoard(OutputFile& file) : file_(file) {}

  // Whether an update is due; the next one is due kBetween later.
  bool falls_due();
  // Errors: kIo; nothing more is written then.
  Status update(const std::string& figures);

 private:
  OutputFile& file_;
  std::chrono::steady_clock::time_point due_{};
  std::uint64_t updates_ = 0;
  bool ended_ = false;
};

}  // namespace tessera
