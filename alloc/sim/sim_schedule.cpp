#include "sim/sim_schedule.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

namespace tessera {
namespace {

constexpr bool is_owned(SimStreamKind kind) {
  return kind == SimStreamKind::kNonBlocking || kind == SimStreamKind::kBlocking;
}
constexpr bool waits_for_legacy(SimStreamKind kind) {
  return kind == SimStreamKind::kBlocking || kind == SimStreamKind::kThread;
}

}  // namespace

SimSchedule::SimSchedule(int devices) : ready_(static_cast<std::size_t>(devices)) {
  for (std::uint64_t device = 0; device < ready_.size(); ++device) {
    legacy_.push_back(add_stream(DeviceId(device), SimStreamKind::kLegacy));
  }
}

StreamId SimSchedule::add_stream(DeviceId device, SimStreamKind kind) {
  const StreamId id(next_stream_++);
  streams_[id] = Stream{.device = device, .kind = kind};
  return id;
}

bool SimSchedule::remove_stream(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.removed || !is_owned(found->second.kind)) {
    return false;
  }
  found->second.removed = true;
  if (found->second.last == SimOp()) streams_.erase(found);
  return true;
}

const DeviceId* SimSchedule::device_of(StreamId stream) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.removed) return nullptr;
  return &found->second.device;
}

EventId SimSchedule::add_event(DeviceId device) {
  const EventId id = events_.take();
  events_.at(id) = Event{.device = device};
  return id;
}

bool SimSchedule::remove_event(EventId event) {
  if (!events_.contains(event)) return false;
  events_.give(event);
  return true;
}

const SimSchedule::Event* SimSchedule::find(EventId event) const { return events_.find(event); }

std::vector<StreamId> SimSchedule::owned_streams() const {
  std::vector<StreamId> owned;
  for (const auto& [id, stream] : streams_) {
    if (is_owned(stream.kind) && !stream.removed) owned.push_back(id);
  }
  return owned;
}

std::vector<EventId> SimSchedule::events() const {
  std::vector<EventId> all;
  events_.for_each([&all](EventId id, const Event&) { all.push_back(id); });
  std::ranges::sort(all);
  return all;
}

SimOp SimSchedule::submit(StreamId stream, SimEngine engine, Nanoseconds now, std::optional<DeviceId> of) {
  const SimOp op = ops_.take();
  enqueue(op, stream, engine, EventId(), SimOp(), now, of);
  return op;
}

void SimSchedule::record(EventId event, StreamId stream, Nanoseconds now) {
  Event& recorded = events_.at(event);
  recorded.recorded = true;
  recorded.over = false;
  recorded.finished = now;
  // Set before it is queued: a marker on an idle stream is over within enqueue().
  recorded.op = ops_.take();
  enqueue(recorded.op, stream, SimEngine::kMarker, event, SimOp(), now);
}

void SimSchedule::record_all(EventId event, Nanoseconds now) {
  const DeviceId device = events_.at(event).device;
  const StreamId joined = add_stream(device, SimStreamKind::kNonBlocking);
  for (const SimOp op : pending(device)) {
    if (!is_finished(op)) enqueue(ops_.take(), joined, SimEngine::kMarker, EventId(), op, now);
  }
  record(event, joined, now);
  remove_stream(joined);
}

void SimSchedule::wait(StreamId stream, EventId event, Nanoseconds now) {
  const SimOp recorded = events_.at(event).op;
  if (is_finished(recorded)) return;
  enqueue(ops_.take(), stream, SimEngine::kMarker, EventId(), recorded, now);
}

template <class Visit>
void SimSchedule::for_each_pending(const Stream& queue, Visit visit) const {
  if (queue.last != SimOp()) visit(queue.last);
  if (waits_for_legacy(queue.kind)) {
    const SimOp legacy = streams_.at(legacy_[queue.device.value()]).last;
    if (legacy != SimOp()) visit(legacy);
  } else if (queue.kind == SimStreamKind::kLegacy) {
    for (const auto& [id, other] : streams_) {
      const bool blocking = other.device == queue.device && waits_for_legacy(other.kind);
      if (blocking && other.last != SimOp()) visit(other.last);
    }
  }
}

void SimSchedule::enqueue(SimOp op, StreamId stream, SimEngine engine, EventId event, SimOp also_wait_for,
                          Nanoseconds now, std::optional<DeviceId> of) {
  Stream& queue = streams_.at(stream);
  Op& record = ops_.at(op);
  record.stream = stream;
  record.queue = &queue;
  record.device = queue.device;
  record.engine = engine;
  record.place = of.value_or(queue.device);
  record.started = false;
  record.waits_for = 0;
  record.event = event;
  const auto wait_for = [&](SimOp earlier) {
    ops_.at(earlier).dependents.push_back(op);
    ++record.waits_for;
  };
  for_each_pending(queue, wait_for);
  if (also_wait_for != SimOp()) wait_for(also_wait_for);
  queue.last = op;
  ++queue.unfinished;
  if (record.waits_for > 0) return;
  if (engine == SimEngine::kMarker) {
    finish(op, now);
  } else {
    note_ready(op, record);
  }
}

SimOp SimSchedule::start(DeviceId device, SimEngine engine) {
  std::deque<SimOp>& queue = ready(device, engine);
  if (queue.empty()) return SimOp();
  const SimOp op = queue.front();
  queue.pop_front();
  --ready_in_all_;
  ops_.at(op).started = true;
  return op;
}

std::size_t SimSchedule::ready_count(DeviceId device, SimEngine engine) const {
  return ready_[device.value()][static_cast<std::size_t>(engine)].size();
}

std::pair<DeviceId, SimEngine> SimSchedule::place_of(SimOp op) const {
  const Op& record = ops_.at(op);
  return {record.place, record.engine};
}

void SimSchedule::finish(SimOp op, Nanoseconds now) {
  // A list, not recursion: a chain of markers may be as long as the queue.
  over_.push_back(op);
  while (!over_.empty()) {
    const SimOp current = over_.back();
    over_.pop_back();
    Op& record = ops_.at(current);
    retire(current, record, now);
    for (const SimOp dependent : record.dependents) {
      Op& waiting = ops_.at(dependent);
      if (--waiting.waits_for > 0) continue;
      if (waiting.engine == SimEngine::kMarker) {
        over_.push_back(dependent);
      } else {
        note_ready(dependent, waiting);
      }
    }
    record.dependents.clear();
    ops_.give(current);
  }
}

void SimSchedule::retire(SimOp op, const Op& record, Nanoseconds now) {
  Stream& stream = *record.queue;
  --stream.unfinished;
  if (stream.last == op) {
    stream.last = SimOp();
    if (stream.removed) streams_.erase(record.stream);
  }
  if (record.event == EventId()) return;
  Event* const event = events_.find(record.event);
  if (event == nullptr || event->op != op) return;  // a later record has replaced the marker
  event->over = true;
  event->finished = now;
}

std::size_t SimSchedule::unfinished(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : found->second.unfinished;
}

std::vector<SimOp> SimSchedule::pending(StreamId stream) const {
  std::vector<SimOp> last;
  for_each_pending(streams_.at(stream), [&last](SimOp op) { last.push_back(op); });
  return last;
}

std::vector<SimOp> SimSchedule::pending(DeviceId device) const {
  std::vector<SimOp> last;
  for (const auto& [id, stream] : streams_) {
    if (stream.device == device && stream.last != SimOp()) last.push_back(stream.last);
  }
  return last;
}

Status SimSchedule::validate() const {
  std::unordered_map<SimOp, std::uint32_t> waits;
  std::unordered_map<SimOp, std::uint32_t> queued;
  std::unordered_map<StreamId, std::size_t> of_streams;
  std::size_t ready_in_all = 0;
  ops_.for_each([&](SimOp, const Op& op) {
    for (const SimOp dependent : op.dependents) ++waits[dependent];
    ++of_streams[op.stream];
  });
  for (const auto& engines : ready_) {
    for (const auto& queue : engines) {
      for (const SimOp op : queue) ++queued[op];
      ready_in_all += queue.size();
    }
  }
  Status status;
  if (ready_in_all != ready_in_all_) status = {Code::kInternal, "the operations that are ready are miscounted"};
  for (const auto& [id, stream] : streams_) {
    if (stream.unfinished == of_streams[id]) continue;
    status = {Code::kInternal,
              fmt::format("stream {} counts {} operations, but has {}", id.value(), stream.unfinished, of_streams[id])};
  }
  ops_.for_each([&](SimOp id, const Op& op) {
    if (waits[id] != op.waits_for) {
      status = {Code::kInternal, fmt::format("operation {} waits for {} operations, but has {} predecessors",
                                             id.value(), op.waits_for, waits[id])};
    }
    const bool ready = op.waits_for == 0 && !op.started;
    if (queued[id] != (ready ? 1U : 0U) || (ready && op.engine == SimEngine::kMarker)) {
      status = {Code::kInternal,
                fmt::format("operation {}: ready {}, but queued {} times", id.value(), ready, queued[id])};
    }
  });
  return status;
}

}  // namespace tessera
