// The files that get reports at the end of a program. They are opened when the allocator is made, so that an unusable
// name is reported at once and the file belongs to this process from then on.
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
  // A file that cannot be opened is logged and left out.
  explicit Outputs(const Options& options);

  // Whether the options name a file for each.
  bool has_stats() const { return stats_.file != nullptr; }
  bool stats_are_json() const { return stats_are_json_; }
  bool has_timeline() const { return timeline_.file != nullptr; }
  bool has_history() const { return history_.file != nullptr; }

  // Final content: replaces what the file has; the last call counts. REQUIRES: there is such a file. Errors: kIo.
  Status write_stats(const std::string& text) { return write(stats_, text); }
  Status write_timeline(const std::string& text) { return write(timeline_, text); }
  Status write_history(const std::string& text) { return write(history_, text); }
  // Before the final statistics: about once a second stores the result of `json`, for readers after a program was
  // killed. Errors: kIo, once.
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
  Output stats_, timeline_, history_;  // the files never change; their state does, under the lock
  std::optional<StatsBoard> board_ GUARDED_BY(mutex_);
};

// What an existing file contains: `tessera run` empties it first, so any content is from another process of the run.
// With %p in the name it is from an earlier process with the same number.
OutputFile::Left left_in(const std::string& path, bool under_run);

}  // namespace tessera
