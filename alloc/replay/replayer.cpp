#include "replay/replayer.hpp"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/page_class.hpp"
#include "replay/repeat.hpp"
#include "replay/virtual_machine.hpp"

namespace tessera {
namespace {

using Kind = TraceEvent::Kind;

// So many operations a program has queued at most; a CUDA stream takes about a thousand.
constexpr std::size_t kAhead = 256;

Nanoseconds lower_bound(const Trace& trace, const ReplayOptions& options, Nanoseconds compute) {
  Nanoseconds bound = compute;
  const auto at_least = [&bound](Bytes bytes, std::uint64_t speed) {
    bound = std::max(bound, LinkSpeed{speed, {}}.time_for(bytes));
  };
  for (std::uint32_t device = 0; device < trace.devices(); ++device) {
    const ForcedMoves link = forced_moves(trace, device, options.device_memory);
    at_least(link.in, options.h2d);
    at_least(link.out, options.d2h);
    if (!link.in && !link.out) continue;
    const ForcedMoves disk =
        forced_moves(trace, device, options.device_memory + options.host_memory);
    at_least(disk.in, options.file_read);
    at_least(disk.out, options.file_write);
  }
  return bound;
}

// One run of one trace: the program's side.
class Program {
 public:
  Program(const Trace& trace, VirtualMachine& machine) : trace_(trace), machine_(machine) {}
  ~Program() {
    const auto note = [](const Status& status) {
      if (!status.is_ok()) log_line(LogLevel::kDebug, "the program left: {}", status.to_string());
    };
    for (const StreamId stream : streams_) {
      note(machine_.allocator().retire_stream(stream));
      note(machine_.driver().destroy_stream(stream));
    }
    for (const EventId event : pending_) note(machine_.driver().destroy_event(event));
    for (const EventId event : spare_) note(machine_.driver().destroy_event(event));
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Status start() {
    for (std::size_t i = 0; i < trace_.streams.size() * trace_.devices(); ++i) {
      StreamId stream;
      TESSERA_TRY_ASSIGN(stream, machine_.driver().create_stream(DeviceId(i / trace_.streams.size())));
      streams_.push_back(stream);
    }
    for (const std::string& word : trace_.words) {
      // Words that no tag may have are names of operations.
      const Result<TagId> tag = machine_.allocator().tags().intern(word);
      tags_.push_back(tag.is_ok() ? tag.value() : TagId());
    }
    addresses_.resize(trace_.blocks.size());
    return {};
  }
  Status play(const TraceEvent& event) {
    machine_.look();
    switch (event.kind) {
      case Kind::kAlloc: return allocate(event.index);
      case Kind::kFree: return free(event.index);
      case Kind::kOp: return queue(trace_.ops[event.index]);
      case Kind::kMark: return mark(trace_.marks[event.index]);
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

 private:
  StreamId stream_of(std::uint32_t stream, std::uint32_t device) const {
    return streams_[device * trace_.streams.size() + stream];
  }
  Status allocate(std::uint32_t index) {
    const TraceBlock& block = trace_.blocks[index];
    TESSERA_TRY(TagStack::push(tags_[block.tag]));
    const Result<Address> address = machine_.allocator().allocate(
        DeviceId(block.device), block.bytes, stream_of(block.stream, block.device));
    TESSERA_TRY(TagStack::pop());
    if (address.is_ok()) addresses_[index] = address.value();
    return address.status();
  }
  Status free(std::uint32_t index) {
    const TraceBlock& block = trace_.blocks[index];
    return machine_.allocator().free(addresses_[index], stream_of(block.stream, block.device));
  }
  Status queue(const TraceOp& op) {
    if (pending_.size() >= kAhead) TESSERA_TRY(await_oldest());
    operands_.clear();
    ranges_.clear();
    for (const std::uint32_t block : trace_.operands_of(op)) {
      operands_.push_back(addresses_[block]);
      ranges_.push_back({addresses_[block], trace_.blocks[block].bytes});
    }
    const StreamId stream = stream_of(op.stream, op.device);
    AnnouncedUse use;
    TESSERA_TRY(machine_.allocator().begin_use(operands_, op.writes, stream,
                                               trace_.words[op.name].c_str(), use));
    Status queued = machine_.driver().occupy(stream, op.time, ranges_);
    if (queued.is_ok()) queued = note(stream);
    machine_.allocator().end_use(use);
    return queued;
  }
  // An event behind the operation that was just queued.
  Status note(StreamId stream) {
    EventId event;
    if (spare_.empty()) {
      TESSERA_TRY_ASSIGN(event, machine_.driver().create_event(DeviceId()));
    } else {
      event = spare_.back();
      spare_.pop_back();
    }
    pending_.push_back(event);
    return machine_.driver().record_event(event, stream);
  }
  Status await_oldest() {
    const EventId oldest = pending_.front();
    Status over = machine_.driver().query(oldest);
    while (over.code() == Code::kNotReady && machine_.step()) over = machine_.driver().query(oldest);
    pending_.pop_front();
    spare_.push_back(oldest);
    return over;
  }
  Status mark(const TraceMark& mark) {
    TESSERA_TRY(machine_.allocator().mark(trace_.words[mark.kind], mark.number));
    if (!trace_.is_iteration(mark)) return {};
    const std::size_t index = marks_.size();
    marks_.emplace_back();
    return machine_.driver().host_function(
        streams_.front(), [this, index] { marks_[index] = machine_.clock().now(); });
  }

  const Trace& trace_;
  VirtualMachine& machine_;
  std::vector<StreamId> streams_;  // of device 0, then of device 1, ...
  std::vector<TagId> tags_;        // by word
  std::vector<Address> addresses_;  // by block
  std::vector<Address> operands_;
  std::vector<DeviceRange> ranges_;
  std::deque<EventId> pending_;
  std::vector<EventId> spare_;
  std::vector<Nanoseconds> marks_;
};

std::vector<Nanoseconds> differences(const std::vector<Nanoseconds>& marks, Nanoseconds end) {
  std::vector<Nanoseconds> times;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    times.push_back((i + 1 < marks.size() ? marks[i + 1] : end) - marks[i]);
  }
  return times;
}

}  // namespace

Result<ReplayResult> replay(const Trace& given, ReplayOptions options) {
  if (given.ops.empty()) {
    return Status(Code::kInvalidArgument, "the trace has no operation: there is nothing to replay");
  }
  const Trace trace = repeat_steps(given, options.iterations);
  ReplayResult result;
  result.bounds = bounds_of(trace);
  if (!options.device_memory) {
    options.device_memory = round_up(trace.device_memory ? trace.device_memory
                                                         : result.bounds.liveness_peak,
                                     kLargePage);
  }
  result.options = options;
  result.events = trace.events.size();
  result.ops = trace.ops.size();
  result.lower_bound = lower_bound(trace, options, result.bounds.compute);
  std::unique_ptr<VirtualMachine> machine;
  TESSERA_TRY_ASSIGN(machine, VirtualMachine::create(options, trace.devices()));
  Program program(trace, *machine);
  TESSERA_TRY(program.start());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Status played = program.play(trace.events[i]);
    if (!played.is_ok()) {
      return Status(played.code(), fmt::format("event {} of {}: {}", i + 1, trace.events.size(),
                                               played.message()));
    }
  }
  TESSERA_TRY(program.finish());
  result.makespan = machine->clock().now();
  machine->allocator().advance();  // counts what has arrived by now
  result.iterations = differences(program.marks(), result.makespan);
  result.stats = machine->allocator().stats().totals;
  return result;
}

}  // namespace tessera
