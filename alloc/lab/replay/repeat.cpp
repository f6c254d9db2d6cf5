#include "lab/replay/repeat.hpp"

#include <unordered_map>
#include <utility>

namespace tessera {
namespace {

using Kind = TraceEvent::Kind;

struct Parts {
  std::vector<TraceEvent> before, steps, behind;
};

// REQUIRES: `end` is behind the last operation.
std::size_t begin_of_steps(const Trace& trace, std::size_t end) {
  std::size_t first_op = end;
  for (std::size_t i = end; i-- > 0;) {
    if (trace.events[i].kind == Kind::kOp) first_op = i;
  }
  for (std::size_t i = 0; i < end; ++i) {
    const TraceEvent& event = trace.events[i];
    if (event.kind == Kind::kMark && trace.is_iteration(trace.marks[event.index])) return i;
  }
  return first_op;
}

std::size_t end_of_ops(const Trace& trace) {
  std::size_t end = trace.events.size();
  while (end > 0 && trace.events[end - 1].kind != Kind::kOp) --end;
  return end;
}

Parts split(const Trace& trace) {
  const std::size_t end = end_of_ops(trace), begin = begin_of_steps(trace, end);
  Parts parts;
  std::vector<bool> of_steps(trace.blocks.size());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    if (i >= begin && i < end && event.kind == Kind::kAlloc) of_steps[event.index] = true;
    const bool own = i >= end && event.kind == Kind::kFree && of_steps[event.index];
    const bool mark = i >= end && event.kind == Kind::kMark && begin < end;
    (i < begin ? parts.before : i < end || own || mark ? parts.steps : parts.behind).push_back(event);
  }
  return parts;
}

// Appends events again, with new blocks and operations.
class Repeater {
 public:
  explicit Repeater(Trace& trace) : trace_(trace), now_(trace.blocks.size()) {
    for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = static_cast<std::uint32_t>(i);
  }

  void play(const std::vector<TraceEvent>& events, bool again) {
    for (TraceEvent event : events) {
      if (again && event.kind == Kind::kAlloc) allocate(event.index);
      if (again && event.kind == Kind::kOp) event.index = copy_op(event.index);
      if (event.kind == Kind::kFree) event.index = now_[event.index];
      if (event.kind == Kind::kRecompute) event.index = copy_recompute(event.index);
      if (!again || event.kind != Kind::kAlloc) trace_.events.push_back(event);
    }
  }
  // The block that stands for `original` from now on.
  void allocate(std::uint32_t original) {
    now_[original] = static_cast<std::uint32_t>(trace_.blocks.size());
    trace_.blocks.push_back(TraceBlock(trace_.blocks[original]));
    trace_.events.push_back({Kind::kAlloc, now_[original]});
  }
  void free(std::uint32_t original) { trace_.events.push_back({Kind::kFree, now_[original]}); }

 private:
  std::uint32_t copy_recompute(std::uint32_t original) {
    TraceRecompute recompute = trace_.recomputes[original];
    recompute.block = now_[recompute.block];
    trace_.recomputes.push_back(recompute);
    return static_cast<std::uint32_t>(trace_.recomputes.size() - 1);
  }
  std::uint32_t copy_op(std::uint32_t original) {
    TraceOp op = trace_.ops[original];
    const std::size_t first = std::exchange(op.first, trace_.operands.size());
    for (std::size_t i = first; i < first + op.reads + op.writes; ++i) {
      const std::span<const TracePart> parts = trace_.parts_of(i);
      for (TracePart part : std::vector(parts.begin(), parts.end())) {
        part.operand = trace_.operands.size();
        trace_.parts.push_back(part);
      }
      trace_.operands.push_back(now_[trace_.operands[i]]);
    }
    trace_.ops.push_back(op);
    return static_cast<std::uint32_t>(trace_.ops.size() - 1);
  }

  Trace& trace_;
  std::vector<std::uint32_t> now_;  // by block of the original trace
};

}  // namespace

RepeatedTrace repeat_steps(Trace trace, std::uint32_t times) {
  if (times <= 1) {
    const std::size_t begin = begin_of_steps(trace, end_of_ops(trace));
    return {std::move(trace), begin};
  }
  const Parts parts = split(trace);
  std::vector<std::uint32_t> left, freed;  // blocks of the steps; earlier blocks
  {
    std::vector<bool> own(trace.blocks.size()), gone(trace.blocks.size());
    for (const TraceEvent& event : parts.steps) {
      if (event.kind == Kind::kAlloc) own[event.index] = true;
      if (event.kind == Kind::kFree) gone[event.index] = true;
    }
    for (std::uint32_t i = 0; i < own.size(); ++i) {
      if (own[i] && !gone[i]) left.push_back(i);
      if (!own[i] && gone[i]) freed.push_back(i);
    }
  }
  trace.events.clear();
  Repeater repeater(trace);
  repeater.play(parts.before, false);
  repeater.play(parts.steps, false);
  std::size_t last_pass = 0;
  for (std::uint32_t time = 1; time < times; ++time) {
    for (const std::uint32_t block : left) repeater.free(block);
    for (const std::uint32_t block : freed) repeater.allocate(block);
    last_pass = trace.events.size();
    repeater.play(parts.steps, true);
  }
  repeater.play(parts.behind, false);
  return {std::move(trace), last_pass};
}

}  // namespace tessera
