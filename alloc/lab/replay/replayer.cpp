#include "lab/replay/replayer.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"
#include "base/page_class.hpp"
#include "lab/replay/cut_blocks.hpp"
#include "lab/replay/mapped_blocks.hpp"
#include "lab/replay/repeat.hpp"
#include "lab/replay/time_bounds.hpp"
#include "lab/replay/virtual_machine.hpp"

namespace tessera {
namespace {

using Kind = TraceEvent::Kind;

// The operations that a program queues at most; a CUDA stream holds about a thousand.
constexpr std::size_t kAhead = 256;

// One run of one trace: the program's side.
class Program {
 public:
  Program(const Trace& trace, VirtualMachine& machine, const ReplayOptions& options)
      : trace_(trace),
        machine_(machine),
        launch_time_(options.launch_time),
        drawn_(!options.timeline.empty()),
        stretches_(trace.parts.empty() ? std::vector<std::vector<UsedStretch>>(trace.blocks.size())
                                       : used_stretches(trace)),
        names_parts_(options.extents && !trace.parts.empty()) {
    if (options.handles) mapped_.emplace(machine.allocator(), options.handles);
  }
  ~Program() {
    const auto note = [](const Status& status) {
      if (!status.is_ok()) log_line(LogLevel::kDebug, "cleanup after a replay failed: {}", status.to_string());
    };
    for (const StreamId stream : streams_) {
      note(machine_.driver().synchronize(stream));  // queued work may write to this object
      note(machine_.allocator().streams().retire(stream));
      note(machine_.driver().destroy_stream(stream));
    }
    for (const Pending& pending : pending_) note(machine_.driver().destroy_event(pending.event));
    if (begin_) note(machine_.driver().destroy_event(*begin_));
    for (const auto& spare : spare_) {
      for (const EventId event : spare) note(machine_.driver().destroy_event(event));
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Status start() {
    for (std::size_t i = 0; i < trace_.streams.size() * trace_.devices(); ++i) {
      StreamId stream;
      TESSERA_TRY_ASSIGN(stream, machine_.driver().create_stream(DeviceId(i / trace_.streams.size())));
      streams_.push_back(stream);
      tracks_.push_back(fmt::format("stream {}", trace_.streams[i % trace_.streams.size()]));
    }
    for (const std::string& word : trace_.words) {
      // Words that are not valid tags are names of operations.
      const Result<TagId> tag = machine_.allocator().tags().intern(word);
      tags_.push_back(tag.is_ok() ? tag.value() : TagId());
    }
    addresses_.resize(trace_.blocks.size());
    spare_.resize(trace_.devices());
    pass_.resize(streams_.size());
    free_from_.resize(streams_.size());
    TESSERA_TRY_ASSIGN(begin_, machine_.driver().create_timed_event(DeviceId()));
    began_ = machine_.clock().now();
    return machine_.driver().record_event(*begin_, streams_.front());
  }
  Status play(const TraceEvent& event) {
    machine_.look();
    switch (event.kind) {
      case Kind::kAlloc: return allocate(event.index);
      case Kind::kFree: return free(event.index);
      case Kind::kOp: return queue(trace_.ops[event.index]);
      case Kind::kMark: return mark(trace_.marks[event.index]);
      case Kind::kRecompute: return set_recompute(trace_.recomputes[event.index]);
    }
    return {};
  }
  // Waits for all operations.
  Status finish() {
    while (!pending_.empty()) TESSERA_TRY(await_oldest());
    for (const StreamId stream : streams_) TESSERA_TRY(machine_.driver().synchronize(stream));
    return {};
  }
  const std::vector<Nanoseconds>& marks() const { return marks_; }

  // Starts the separate accounting of the last pass. The program is ahead of its device, which reaches this point
  // later.
  Status begin_last_pass() {
    marks_before_ = marks_.size();
    machine_.waits().keep();
    is_last_pass_ = true;
    return machine_.driver().host_function(streams_.front(), [this] {
      pass_began_ = machine_.clock().now();
      before_ = machine_.carried();
    });
  }
  LastPass last_pass() const {
    const VirtualMachine::Carried after = machine_.carried();
    LastPass pass;
    pass.time = machine_.clock().now() - *pass_began_;
    pass.iterations = marks_.size() - marks_before_;
    pass.in = after.links.in - before_.links.in;
    pass.out = after.links.out - before_.links.out;
    pass.file_read = after.file_read - before_.file_read;
    pass.file_written = after.file_written - before_.file_written;
    pass.peer_in = after.links.peer_in - before_.links.peer_in;
    pass.peer_out = after.links.peer_out - before_.links.peer_out;
    const auto busiest = std::ranges::max_element(pass_, {}, &StreamPass::compute);
    pass.stalls = stalls_between(*pass_began_, machine_.clock().now(), busiest->work, machine_.waits().kept());
    return pass;
  }
  // The slices of all streams and links.
  std::vector<TrackSlice> slices() const {
    std::vector<TrackSlice> all = slices_;
    const std::vector<TrackSlice>& links = machine_.links().slices();
    all.insert(all.end(), links.begin(), links.end());
    return all;
  }

 private:
  // Work on a stream, the event behind it, and when it was queued.
  struct Pending {
    EventId event;
    std::size_t stream = 0;  // its index
    Nanoseconds queued, time;
    const TraceOp* op = nullptr;  // null: it recomputes an operand
  };
  // What the last pass has queued on a stream, and when that ran.
  struct StreamPass {
    Nanoseconds compute;
    std::vector<StreamWork> work;
  };
  std::size_t index_of(std::uint32_t stream, std::uint32_t device) const {
    return device * trace_.streams.size() + stream;
  }
  StreamId stream_of(std::uint32_t stream, std::uint32_t device) const { return streams_[index_of(stream, device)]; }
  Status allocate(std::uint32_t index) {
    const TraceBlock& block = trace_.blocks[index];
    TESSERA_TRY(TagStack::push(tags_[block.tag]));
    const bool in_parts = !stretches_[index].empty();
    const Result<Address> address =
        in_parts && mapped_
            ? mapped_->allocate(DeviceId(block.device), block.bytes)
            : machine_.allocator().allocate(DeviceId(block.device), block.bytes, stream_of(block.stream, block.device));
    TESSERA_TRY(TagStack::pop());
    if (!address.is_ok()) return address.status();
    addresses_[index] = address.value();
    if (!names_parts_ || !in_parts) return {};
    std::vector<Extent> extents;
    for (const UsedStretch& stretch : stretches_[index]) extents.push_back({stretch.offset, stretch.bytes});
    return machine_.allocator().hints().set_extents(address.value(), std::move(extents));
  }
  Status free(std::uint32_t index) {
    const TraceBlock& block = trace_.blocks[index];
    if (mapped_ && mapped_->contain(addresses_[index])) return mapped_->free(addresses_[index]);
    return machine_.allocator().free(addresses_[index], stream_of(block.stream, block.device));
  }
  // The bytes that the operation uses, and where each stretch of them begins. Returns how many stretches at the end of
  // them it writes.
  std::size_t name_operands(const TraceOp& op) {
    operands_.clear();
    ranges_.clear();
    named_.clear();
    std::size_t written = 0;
    const std::span<const std::uint32_t> blocks = trace_.operands_of(op);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Address at = addresses_[blocks[i]];
      if (i == op.reads) written = ranges_.size();
      const std::span<const TracePart> parts = trace_.parts_of(op.first + i);
      if (parts.empty()) ranges_.push_back({at, trace_.blocks[blocks[i]].bytes});
      for (const TracePart& part : parts) ranges_.push_back({at + part.offset, part.bytes});
    }
    written = op.writes == 0 ? 0 : ranges_.size() - written;
    for (const DeviceRange& range : ranges_) {
      if (names_parts_) {
        named_.push_back({range.address, range.bytes});
      } else {
        operands_.push_back(range.address);
      }
    }
    return written;
  }
  Status queue(const TraceOp& op) {
    if (ahead_ >= kAhead) TESSERA_TRY(await_oldest());
    if (launch_time_) machine_.pass(launch_time_);
    const std::size_t written = name_operands(op);
    const std::size_t index = index_of(op.stream, op.device);
    const StreamId stream = streams_[index];
    const char* const name = trace_.words[op.name].c_str();
    AnnouncedUse use;
    TESSERA_TRY(names_parts_ ? machine_.allocator().uses().begin(named_, written, stream, name, use)
                             : machine_.allocator().uses().begin(operands_, written, stream, name, use));
    Status queued = machine_.driver().occupy(stream, op.time, ranges_);
    if (queued.is_ok()) queued = note(index, op.time, &op);
    if (is_last_pass_) pass_[index].compute += op.time;
    machine_.allocator().uses().end(use);
    for (const std::uint32_t block : trace_.operands_of(op).last(op.writes)) {
      if (const auto time = trace_.blocks[block].recompute) TESSERA_TRY(set_recompute({block, *time}));
    }
    return queued;
  }
  // From now on the block's contents can be recomputed, which takes this time on the stream that needs them.
  Status set_recompute(const TraceRecompute& recompute) {
    const Nanoseconds time = recompute.time;
    if (!time) {
      const Status ended = machine_.allocator().hints().set_recompute(addresses_[recompute.block], {}, {});
      return ended.code() == Code::kBusy ? Status() : ended;  // in the recorded run it was not dropped
    }
    return machine_.allocator().hints().set_recompute(
        addresses_[recompute.block],
        [this, time](Address address, Bytes bytes, StreamId stream) {
          const DeviceRange range{address, bytes};
          TESSERA_TRY(machine_.driver().occupy(stream, time, {&range, 1}));
          const auto on = std::ranges::find(streams_, stream);
          if (on == streams_.end()) return Status();  // the allocator's own stream, which has no track
          return note(static_cast<std::size_t>(on - streams_.begin()), time, nullptr);
        },
        time);
  }
  // Records an event behind the work that was just queued.
  Status note(std::size_t stream, Nanoseconds time, const TraceOp* op) {
    const std::size_t device = stream / trace_.streams.size();
    EventId event;
    std::vector<EventId>& spare = spare_[device];
    if (spare.empty()) {
      TESSERA_TRY_ASSIGN(event, machine_.driver().create_timed_event(DeviceId(device)));
    } else {
      event = spare.back();
      spare.pop_back();
    }
    pending_.push_back({event, stream, machine_.clock().now(), time, op});
    if (op != nullptr) ++ahead_;
    return machine_.driver().record_event(event, streams_[stream]);
  }
  // Waits for the oldest operation, including the recomputing work before it.
  Status await_oldest() {
    const ProfilerRange waits(&machine_.waits(), name_of(StallCause::kWork));
    for (bool recomputes = true; recomputes && !pending_.empty();) {
      const Pending oldest = pending_.front();
      Status over = machine_.driver().query(oldest.event);
      while (over.code() == Code::kNotReady && machine_.step()) over = machine_.driver().query(oldest.event);
      if (over.is_ok()) over = keep(oldest);
      pending_.pop_front();
      spare_[oldest.stream / trace_.streams.size()].push_back(oldest.event);
      recomputes = oldest.op == nullptr;
      if (!recomputes) --ahead_;
      TESSERA_TRY(over);
    }
    return {};
  }
  // Records when finished work ran, if needed.
  Status keep(const Pending& work) {
    if (!drawn_ && !pass_began_) return {};
    std::int64_t behind = 0;
    TESSERA_TRY_ASSIGN(behind, machine_.driver().elapsed(*begin_, work.event));
    const Nanoseconds end = began_ + Nanoseconds(static_cast<std::uint64_t>(behind)), begin = end - work.time;
    if (drawn_) draw(work, begin, end);
    if (!pass_began_ || end < *pass_began_) return {};
    pass_[work.stream].work.push_back({work.queued, begin, end, work.op == nullptr});
    return {};
  }
  // After work was queued on a free stream, the stream waited for copies, behind an event (stream_stalls.hpp).
  void draw(const Pending& work, Nanoseconds begin, Nanoseconds end) {
    const auto device = static_cast<std::uint16_t>(work.stream / trace_.streams.size());
    const std::string_view track = tracks_[work.stream];
    const Nanoseconds ready = std::max(free_from_[work.stream], work.queued);
    if (ready < begin) slices_.push_back({device, track, ready, begin, "stall copy_in", {}});
    std::string_view name = "recompute";
    if (work.op != nullptr) name = trace_.words[work.op->name];
    slices_.push_back({device, track, begin, end, name, {}});
    free_from_[work.stream] = end;
  }
  Status mark(const TraceMark& mark) {
    machine_.allocator().mark(trace_.words[mark.kind], mark.number);
    if (!trace_.is_iteration(mark)) return {};
    const std::size_t index = marks_.size();
    marks_.emplace_back();
    return machine_.driver().host_function(streams_.front(), [this, index] { marks_[index] = machine_.clock().now(); });
  }

  const Trace& trace_;
  VirtualMachine& machine_;
  const Nanoseconds launch_time_;
  const bool drawn_;                // records when each operation ran on each stream, for the timeline
  std::vector<StreamId> streams_;   // those of device 0, then of device 1, ...
  std::vector<TagId> tags_;         // by word
  std::vector<Address> addresses_;  // by block
  std::vector<Address> operands_;
  std::vector<DeviceRange> ranges_;
  std::vector<AddressRange> named_;
  const std::vector<std::vector<UsedStretch>> stretches_;  // by block
  const bool names_parts_;                                 // operations say which bytes they use, not only where
  std::optional<MappedBlocks> mapped_;
  std::deque<Pending> pending_;
  std::size_t ahead_ = 0;                    // operations among them
  std::vector<std::vector<EventId>> spare_;  // by device
  std::vector<Nanoseconds> marks_;
  std::optional<EventId> begin_;
  Nanoseconds began_{};
  bool is_last_pass_ = false;
  std::optional<Nanoseconds> pass_began_;  // on the device
  std::vector<StreamPass> pass_;           // by stream
  std::vector<Nanoseconds> free_from_;     // per stream: end of the work drawn so far
  std::vector<std::string> tracks_;        // their names
  std::vector<TrackSlice> slices_;
  VirtualMachine::Carried before_;  // at the beginning of the last pass on the device
  std::size_t marks_before_ = 0;
};

std::vector<Nanoseconds> differences(const std::vector<Nanoseconds>& marks, Nanoseconds end) {
  std::vector<Nanoseconds> times;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    times.push_back((i + 1 < marks.size() ? marks[i + 1] : end) - marks[i]);
  }
  return times;
}

// The first pass also fills an empty machine, so only the others count.
void bound_pass(const RepeatedTrace& repeated, const Trace& bounded, const ReplayOptions& options, LastPass& pass) {
  const auto& events = repeated.trace.events;
  const auto ops = std::count_if(events.begin() + static_cast<std::ptrdiff_t>(repeated.last_pass), events.end(),
                                 [](const TraceEvent& e) { return e.kind == Kind::kOp; });
  const std::uint32_t passes = std::max<std::uint32_t>(options.iterations, 2) - 1;
  pass.ops = static_cast<std::size_t>(ops);
  pass.compute = compute_from(repeated.trace, repeated.trace.ops.size() - pass.ops);
  pass.lower_bound = pass_lower_bound(bounded, options, pass.ops, passes);
}

Bytes memory_or(const ReplayOptions& options, const Trace& trace, Bytes liveness_peak) {
  if (options.device_memory) return options.device_memory;
  return round_up(trace.device_memory ? trace.device_memory : liveness_peak, kLargePage);
}

}  // namespace

Bytes device_memory_for(const Trace& trace, const ReplayOptions& options) {
  if (options.device_memory) return options.device_memory;
  if (trace.parts.empty()) return memory_or(options, trace, bounds_of(trace).liveness_peak);
  return memory_or(options, trace, bounds_of(cut_blocks(trace)).liveness_peak);
}

Result<ReplayResult> replay(const Trace& given, ReplayOptions options, const SharedPlace* place) {
  const RepeatedTrace repeated = repeat_steps(given, options.iterations);
  const Trace& trace = repeated.trace;
  ReplayResult result;
  std::optional<Trace> cut;
  if (!trace.parts.empty()) cut = cut_blocks(trace);
  const Trace& bounded = cut ? *cut : trace;
  result.bounds = bounds_of(bounded);
  options.device_memory = memory_or(options, trace, result.bounds.liveness_peak);
  result.options = options;
  result.events = trace.events.size();
  result.ops = trace.ops.size();
  result.lower_bound = lower_bound(bounded, options, result.bounds.compute);
  std::unique_ptr<VirtualMachine> machine;
  TESSERA_TRY_ASSIGN(machine, VirtualMachine::create(options, trace.devices(), place));
  Program program(trace, *machine, options);
  TESSERA_TRY(program.start());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (i == repeated.last_pass) TESSERA_TRY(program.begin_last_pass());
    const Status played = program.play(trace.events[i]);
    if (!played.is_ok()) {
      return Status(played.code(), fmt::format("event {} of {}: {}", i + 1, trace.events.size(), played.message()));
    }
  }
  TESSERA_TRY(program.finish());
  result.makespan = machine->clock().now();
  machine->allocator().heaps().advance();  // counts transfers that have ended by now
  result.iterations = differences(program.marks(), result.makespan);
  result.stats = machine->allocator().stats().snapshot().totals;
  result.last_pass = program.last_pass();
  if (const DeviceShare* const share = machine->share()) {
    result.turns = share->turns();
    result.waited = share->waited();
  }
  bound_pass(repeated, bounded, options, result.last_pass);
  if (!options.timeline.empty()) {
    TESSERA_TRY(machine->allocator().reports().write_timeline(options.timeline, program.slices()));
  }
  return result;
}

}  // namespace tessera
