// What a person or another process reads of a run: the page of live figures, the timeline, the history, and the files
// that the options request.
//
// Thread safety: every call may be made from any thread, except where REQUIRES says otherwise.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/device_heaps.hpp"
#include "api/live_board.hpp"
#include "api/options.hpp"
#include "api/outputs.hpp"
#include "api/profile_figures.hpp"
#include "api/run_summary.hpp"
#include "api/stats_collector.hpp"
#include "api/tag_table.hpp"
#include "api/ticker.hpp"
#include "api/trace_recorder.hpp"
#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "observe/event_log.hpp"
#include "observe/timeline.hpp"

namespace tessera {

class Reports {
 public:
  // Opens the files. REQUIRES: all of it outlives it.
  Reports(StatsCollector& stats, const DeviceHeaps& heaps, TraceRecorder& recorder, EventLog& log, const TagTable& tags,
          const Options& options, const Clock& clock)
      : stats_(stats),
        heaps_(heaps),
        recorder_(recorder),
        log_(log),
        tags_(tags),
        began_(log.now()),
        outputs_(options, clock),
        summary_(options) {}

  // Opens the page for an outside reader, if there is a directory for such pages, and the thread that stores what is
  // due of the files. REQUIRES: no other call is being made, and none was. Afterwards show() shows the figures.
  void start(const Options& options);
  void stop() { ticker_.reset(); }
  bool has_board() const { return board_ != nullptr; }
  // Publishes the statistics for an outside reader, if there is one. REQUIRES: has_board(); one thread.
  void show();
  std::string figures_to_show() const;
  // Stores what is due of the reports, for readers after this process was killed. May take 0.1 s, and wait for a disk.
  void keep();

  Status write_timeline(const std::string& path, std::span<const TrackSlice> slices = {}) const;
  // Covers the whole run so far. Errors: kInvalidArgument when none is kept (options.history); kIo.
  Status write_history(const std::string& path) const;
  // Where moves end in between, tries again so many times to find its figures and the statistics at one time; then the
  // statistics have the history's figures.
  Result<std::string> history_text(int tries) const;
  // A part of the run: begins it, in place of an earlier one. Errors: kNotSupported if no events are kept.
  Status begin_profile();
  // Its history, and ends it. Errors: kInvalidArgument if none has begun.
  Result<std::string> end_profile();
  // Writes the files that the options request at the end of a program.
  Status finish();

 private:
  std::vector<CostlyRun> costs() const;
  std::string text_of(HistoryPicture&& picture, StatsSnapshot&& stats, const ProfileBegin* begin) const;

  StatsCollector& stats_;
  const DeviceHeaps& heaps_;
  TraceRecorder& recorder_;
  EventLog& log_;
  const TagTable& tags_;
  const Nanoseconds began_;
  Outputs outputs_;
  const RunSummary summary_;
  Mutex profile_mutex_{LockRank::kOutputs};
  std::optional<ProfileBegin> profile_ GUARDED_BY(profile_mutex_);
  std::unique_ptr<LiveBoard> board_;  // may be null
  std::unique_ptr<Ticker> ticker_;    // may be null; stops first
};

}  // namespace tessera
