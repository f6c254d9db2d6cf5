// The files that get reports at the end of a program. They are opened when the allocator is made, so that an unusable
// name is reported at once and the file belongs to this process from then on. Until then they hold the last known state
// of the reports (last_known.hpp).
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/last_known.hpp"
#include "api/options.hpp"
#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "observe/output_file.hpp"

namespace tessera {

class Outputs {
 public:
  // A file that cannot be opened is logged and left out. REQUIRES: the clock outlives it.
  Outputs(const Options& options, const Clock& clock);

  // Whether the options name a file for each.
  bool has_stats() const { return stats_.file != nullptr; }
  bool stats_are_json() const { return stats_are_json_; }
  bool has_timeline() const { return timeline_.file != nullptr; }
  bool has_history() const { return history_.file != nullptr; }
  bool has_any() const { return has_stats() || has_timeline() || has_history(); }

  // Final content: replaces what the file has; the last call counts. REQUIRES: there is such a file. Errors: kIo.
  Status write_stats(const std::string& text) { return write(stats_, text); }
  Status write_timeline(const std::string& text) { return write(timeline_, text); }
  Status write_history(const std::string& text) { return write(history_, text); }

  // Before the final content: stores the JSON that `make` returns, if the file exists and an update is due; a failure
  // is logged, once. `make` is called without a lock.
  using Make = std::function<std::string()>;
  void keep_stats(const Make& make) { keep(stats_, "statistics", make); }
  void keep_timeline(const Make& make) { keep(timeline_, "timeline", make); }
  void keep_history(const Make& make) { keep(history_, "history", make); }

 private:
  struct Output {
    std::unique_ptr<OutputFile> file;  // never changes
    std::optional<LastKnown> known;    // where there is a file; under the lock
    bool ended = false;                // under the lock
  };
  static Output open(const char* what, const std::string& path, bool under_run);
  Status write(Output& output, const std::string& text);
  void keep(Output& output, const char* what, const Make& make);

  const Clock& clock_;
  bool stats_are_json_ = false;
  Mutex mutex_{LockRank::kOutputs};
  Output stats_, timeline_, history_;
};

// What an existing file contains: `tessera run` empties it first, so any content is from another process of the run.
// With %p in the name it is from an earlier process with the same number.
OutputFile::Left left_in(const std::string& path, bool under_run);

}  // namespace tessera
