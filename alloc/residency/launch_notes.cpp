#include "residency/launch_notes.hpp"

#include <algorithm>
#include <optional>

#include "base/log.hpp"

namespace tessera {

// The watch runs from here, after everything the work waits for, to end_use.
void LaunchNotes::note_launch(std::span<Run* const> runs, StreamId stream, Epoch epoch, Access access, Use& use) {
  if (is_inside_callback()) return;  // not part of what the program repeats
  std::optional<Stopwatches::Watch> watch;
  if (use.kind == Use::Kind::kGate && stream != kNoStream && locked_.tracker.times()) {
    watch = locked_.tracker.watches().start(stream);
  }
  if (watch) use.watch = *watch;
  if (locked_.tracker.is_short() && use.kind == Use::Kind::kGate) note_kernel(use.work, stream, epoch, use.gate_slot);
  const Runs named = runs.first(std::min<std::size_t>(runs.size(), use.named));
  locked_.tracker.log().note(use.work, named, epoch, access == Access::kWrite, watch, stream, use.copies);
}

std::uint32_t LaunchNotes::time_other(StreamId stream) {
  if (!locked_.tracker.times() || stream == kNoStream || is_inside_callback()) return Use::kNoWatch;
  if (!locked_.tracker.log().takes_other()) return Use::kNoWatch;
  const std::optional<Stopwatches::Watch> watch = locked_.tracker.watches().start(stream);
  if (!watch) return Use::kNoWatch;
  if (locked_.tracker.log().note_other(*watch, stream)) return *watch;
  locked_.tracker.watches().give_back(*watch);
  return Use::kNoWatch;
}

void LaunchNotes::note_kernel(const void* work, StreamId stream, Epoch epoch, std::uint32_t gate_slot) {
  if (stream == kNoStream) return;
  const std::uint32_t slot = locked_.streams.slot_of(stream);
  locked_.waiting.note(work, slot, epoch);
  const auto known = locked_.waiting.find(work);
  if (!known) return;
  if (!known->is_suspect) return locked_.waits.note_waiter(slot, epoch, known->allowance);
  if (!locked_.gate.saw_all_out(gate_slot)) return;
  if (const Status marked = locked_.streams.mark(slot, epoch.previous()); !marked.is_ok()) {
    log_line(LogLevel::kDebug, "a kernel was launched without a fence: {}", marked.to_string());
  }
}

}  // namespace tessera
