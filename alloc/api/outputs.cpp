#include "api/outputs.hpp"

#include <utility>

#include "base/log.hpp"
#include "observe/text_file.hpp"

namespace tessera {

OutputFile::Left left_in(const std::string& path, bool under_run) {
  const bool others = under_run && path.find("%p") == std::string::npos;
  return others ? OutputFile::Left::kKeep : OutputFile::Left::kReplace;
}

Outputs::Outputs(const Options& options) : stats_are_json_(options.stats.ends_with(".json")) {
  stats_.file = open("statistics", options.stats, options.under_run);
  timeline_.file = open("timeline", options.timeline, options.under_run);
  history_.file = open("history", options.history, options.under_run);
  const MutexLock lock(mutex_);
  if (stats_.file != nullptr) board_.emplace(*stats_.file);
}

std::unique_ptr<OutputFile> Outputs::open(const char* what, const std::string& path, bool under_run) {
  if (path.empty()) return nullptr;
  auto file = OutputFile::open(path_of_process(path), left_in(path, under_run));
  if (file.is_ok()) return file.take();
  log_line(LogLevel::kWarning, "no {}: {}", what, file.status().message());
  return nullptr;
}

Status Outputs::write(Output& output, const std::string& text) {
  const MutexLock lock(mutex_);
  // A non-regular file cannot be replaced, so it is written once.
  if (output.ended && !output.file->is_regular()) return {};
  output.ended = true;
  return output.file->replace(text);
}

Status Outputs::keep_stats(const std::function<std::string()>& json) {
  {
    const MutexLock lock(mutex_);
    if (!board_ || stats_.ended || !board_->falls_due()) return {};
  }
  const std::string figures = json();  // takes locks of the engine
  const MutexLock lock(mutex_);
  return stats_.ended ? Status() : board_->update(figures);
}

}  // namespace tessera
