#include "api/outputs.hpp"

#include <utility>

#include "base/log.hpp"
#include "observe/text_file.hpp"

namespace tessera {

OutputFile::Left left_in(const std::string& path, bool under_run) {
  const bool others = under_run && path.find("%p") == std::string::npos;
  return others ? OutputFile::Left::kKeep : OutputFile::Left::kReplace;
}

Outputs::Outputs(const Options& options, const Clock& clock)
    : clock_(clock),
      stats_are_json_(options.stats.ends_with(".json")),
      stats_(open("statistics", options.stats, options.under_run)),
      timeline_(open("timeline", options.timeline, options.under_run)),
      history_(open("history", options.history, options.under_run)) {}

Outputs::Output Outputs::open(const char* what, const std::string& path, bool under_run) {
  Output output;
  if (path.empty()) return output;
  auto file = OutputFile::open(path_of_process(path), left_in(path, under_run));
  if (file.is_ok()) {
    output.file = file.take();
    output.known.emplace(*output.file);
  } else {
    log_line(LogLevel::kWarning, "no {}: {}", what, file.status().message());
  }
  return output;
}

Status Outputs::write(Output& output, const std::string& text) {
  const MutexLock lock(mutex_);
  // A non-regular file cannot be replaced, so it is written once.
  if (output.ended && !output.file->is_regular()) return {};
  output.ended = true;
  return output.file->replace(text);
}

void Outputs::keep(Output& output, const char* what, const Make& make) {
  const Nanoseconds began = clock_.now();
  {
    const MutexLock lock(mutex_);
    if (!output.known || output.ended || !output.known->is_due(began)) return;
  }
  const std::string text = make();  // takes locks of the engine
  const MutexLock lock(mutex_);
  if (output.ended) return;
  const Status kept = output.known->update(text);
  if (!kept.is_ok()) {
    log_line(LogLevel::kWarning, "no {} if this process is killed: {}", what, kept.message());
  }
  output.known->wait_after(began, clock_.now());
}

}  // namespace tessera
