// The allocator behind the C API, in C++ and without the conventions of C: allocates and frees blocks, and assembles
// the parts that do everything else.
//
// create() builds the machine, on one screen of allocator.cpp: one driver, one host tier, one file tier, and one
// DeviceHeap per device, built at its first use.
//
// Thread safety: every call may be made from any thread; the parts say so of theirs.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "api/activity.hpp"
#include "api/device_heaps.hpp"
#include "api/driver_memory.hpp"
#include "api/foundations.hpp"
#include "api/graded_uses.hpp"
#include "api/hints.hpp"
#include "api/host_sharing.hpp"
#include "api/idle_sleep.hpp"
#include "api/lower_tiers.hpp"
#include "api/mappable_memory.hpp"
#include "api/memory_queries.hpp"
#include "api/oom_explainer.hpp"
#include "api/options.hpp"
#include "api/pins.hpp"
#include "api/program_streams.hpp"
#include "api/reports.hpp"
#include "api/stats_collector.hpp"
#include "api/tag_table.hpp"
#include "api/trace_recorder.hpp"
#include "api/unnamed_uses.hpp"
#include "api/uses.hpp"
#include "base/clock.hpp"
#include "observe/event_log.hpp"

namespace tessera {

class Allocator {
 public:
  // Uses this machine. REQUIRES: `clock` outlives the allocator.
  static Result<std::unique_ptr<Allocator>> create(std::unique_ptr<Driver> driver, const Options& options,
                                                   const Clock& clock);
  // Uses a machine given by the caller. REQUIRES: what `foundations` refers to outlives the allocator.
  static Result<std::unique_ptr<Allocator>> create(Foundations foundations, const Options& options);
  ~Allocator();

  // `unless_pushed`: the tag of the block if the thread has pushed none.
  Result<Address> allocate(DeviceId device, Bytes bytes, StreamId stream, TagId unless_pushed = TagId());
  Status free(Address address, StreamId stream);
  // The block is reused only after the work queued so far on each of the streams is done.
  Status free_after(Address address, std::span<const StreamId> streams);

  // ---- parts ----
  DeviceHeaps& heaps() { return heaps_; }
  Uses& uses() { return uses_; }
  GradedUses& graded_uses() { return graded_; }
  UnnamedUses& unnamed_uses() { return unnamed_; }
  Hints& hints() { return hints_; }
  Pins& pins() { return pins_; }
  MappableMemory& mappable() { return mappable_; }
  HostMemory& host_memory() { return lower_.host_memory(); }
  DriverMemory& driver_memory() { return driver_memory_; }
  MemoryQueries& memory() { return memory_; }
  ProgramStreams& streams() { return streams_; }
  TagTable& tags() { return tags_; }
  Activity& activity() { return activity_; }
  StatsCollector& stats() { return stats_; }
  Reports& reports() { return reports_; }

  // Names a moment, in the timeline and in the trace.
  void mark(std::string_view kind, std::uint64_t number);
  Status validate() const { return heaps_.validate(); }

 private:
  Allocator(Foundations foundations, std::vector<Loan> loans, const Options& options);
  std::chrono::milliseconds look_around();

  const std::unique_ptr<Driver> driver_;
  const Options options_;
  EventLog log_;
  TagTable tags_;

  // Each refers to those before it.
  LowerTiers lower_;
  DeviceHeaps heaps_;
  Activity activity_;
  HostSharing sharing_;
  TraceRecorder recorder_;
  const OomExplainer oom_;
  UnnamedUses unnamed_;
  Uses uses_;
  GradedUses graded_;
  Hints hints_;
  IdleSleep idle_sleep_;
  Pins pins_;
  MappableMemory mappable_;
  DriverMemory driver_memory_;
  MemoryQueries memory_;
  ProgramStreams streams_;
  StatsCollector stats_;
  Reports reports_;
  std::chrono::steady_clock::time_point looked_;  // used by the pump's thread only
};

}  // namespace tessera
