// What the program does, as a trace: its blocks, its work with the blocks that it uses, and how long that takes.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "api/device_heaps.hpp"
#include "api/named_runs.hpp"
#include "api/op_times.hpp"
#include "api/options.hpp"
#include "base/clock.hpp"
#include "driver/driver.hpp"
#include "observe/trace_writer.hpp"

namespace tessera {

class TraceRecorder {
 public:
  // Off if the options ask for no trace, or for one that cannot be opened, which is logged. REQUIRES: all of it
  // outlives it.
  TraceRecorder(const DeviceHeaps& heaps, Driver& driver, const Options& options, const Clock& clock);

  bool is_on() const { return trace_ != nullptr; }

  // ---- REQUIRES: is_on() ----
  TraceWriter& writer() { return *trace_; }
  // Writes the line of queued work, of which each block, or the same part of it, counts once however many addresses
  // name it. Of large blocks it names the part.
  template <class Named>
  TraceWriter::OpKind op(std::span<const Named> named, StreamId stream, Access access, std::string_view name);
  // Before and after the work of such an operation is queued.
  void begin_timing(const TraceWriter::OpKind& kind, StreamId stream) { times_->begin(kind, stream); }
  void end_timing(StreamId stream) { times_->end(stream); }
  // Makes the file complete up to here. Errors: as TraceWriter::flush.
  Status finish();

 private:
  const DeviceHeaps& heaps_;
  std::unique_ptr<TraceWriter> trace_;  // null: off
  std::unique_ptr<OpTimes> times_;      // only with a trace
};

}  // namespace tessera
