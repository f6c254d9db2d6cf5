// The files that get reports at the end of a program: opened when its allocator is made, so that a name that cannot be
// had is said at once, and is this process's own from then on.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/options.hpp"
#include "api/stats_board.hpp"
#include "base/mutex.hpp"
#include "observe/output_file.hpp"

namespace tessera {

class Outputs {
 public:
  // What cannot be opened is said, and left out.
  explicit Outputs(const Options& options);

  // Whether the program's options name files for any.
  bool has_stats() const { return stats_.file != nullptr; }
  bool stats_are_json() const { return stats_are_json_; }
  bool has_timeline() const { return timeline_.file != nullptr; }
  bool has_history() const { return history_.file != nullptr; }

  // The end: the file is that text. The last one counts. REQUIRES: there is such a file. Errors: kIo.
  Status write_stats(const std::string& text) { return write(stats_, text); }
  Status write_timeline(const std::string& text) { return write(timeline_, text); }
  Status write_history(const std::string& text) { return write(history_, text); }
  // Until the end of the statistics: keeps what `json` gives for readers after a program was killed, about
  // once a second. Errors: kIo, once.
  Status keep_stats(const std::function<std::string()>& json);

 private:
  struct Output {
    std::unique_ptr<OutputFile> file;
    bool ended = false;
  };
  static std::unique_ptr<OutputFile> open(const char* what, const std::string& path, bool under_run);
  Status write(Output& output, const std::string& text);

  bool stats_are_json_ = false;
  Mutex mutex_{LockRank::kOutputs};
  Output stats_, timeline_, history_;  // their files never change; what they are told does, under the lock
  std::optional<StatsBoard> board_ GUARDED_BY(mutex_);
};

// What a file that is there is: `tessera run` empties it first, so that what stands in it is another process's of the
// run. With %p in the name it is of an earlier process of that number.
OutputFile::Left left_in(const std::string& path, bool under_run);

}  // namespace tessera
