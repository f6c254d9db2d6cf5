#include "observe/event_log.hpp"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

constexpr std::uint64_t kPart = 4096;

std::optional<HistoryPicture> picture_of(const std::optional<History>& history, Nanoseconds until) {
  return history ? std::optional(history->picture(until)) : std::nullopt;
}

}  // namespace

EventLog::EventLog(const Clock& clock, std::size_t capacity, bool with_history, Profiler* profiler)
    : clock_(clock), capacity_(capacity), keeps_(capacity > 0 || with_history), profiler_(profiler) {
  if (with_history) history_.emplace(clock.now());
}

void EventLog::keep(const Event& event) {
  if (capacity_ == 0) return;
  // The ring grows on demand up to its bound, so a quiet program uses little memory.
  if (ring_.size() < capacity_) {
    ring_.push_back(event);
  } else {
    ring_[recorded_ % capacity_] = event;
  }
  ++recorded_;
}

Nanoseconds EventLog::begin_move(Link link, Address page, Bytes bytes) const {
  if (profiler_ != nullptr) profiler_->begin_move(link, page, bytes);
  return now();
}

void EventLog::tell_profiler(const Event& event) const {
  const bool moved = event.kind != EventKind::kStall && event.kind != EventKind::kMark;
  if (profiler_ != nullptr && moved) profiler_->end_move(event.address);
}

template <class Visit>
void EventLog::for_each_history(Visit visit) {
  for (std::optional<History>* const history : {&history_, &part_}) {
    if (*history) visit(**history);
  }
}

void EventLog::record(const Event& event) {
  tell_profiler(event);
  if (!keeps_) return;
  const MutexLock lock(mutex_);
  keep(event);
  const auto link = link_of(event.kind);
  if (!link) return;
  for_each_history([&](History& history) {
    history.add_move(*link, event.bytes, std::max(event.begin, history.begin()), std::max(event.end, history.begin()));
  });
}

void EventLog::mark(std::string_view kind, std::uint64_t number) {
  if (profiler_ != nullptr) profiler_->mark(kind, number);
  record(EventKind::kMark, DeviceId(), now(), Address(), Bytes(number));
}

void EventLog::record(const Event& stall, const StallParts& parts) {
  if (!keeps_) return;
  const MutexLock lock(mutex_);
  keep(stall);
  for_each_history([&](History& history) {
    history.add_stall(parts, std::max(stall.begin, history.begin()), std::max(stall.end, history.begin()));
  });
}

// The time is taken under the lock: devices share tags, and a tag's changes must be in order.
void EventLog::change_place(TagId tag, Location from, Location to, Bytes bytes) {
  if (!keeps_ || from == to) return;
  const MutexLock lock(mutex_);
  auto& places = places_[tag];
  if (from != Location::kNowhere) places[index_of(from)] -= bytes;
  if (to != Location::kNowhere) places[index_of(to)] += bytes;
  for_each_history([&](History& history) { history.change_place(tag, from, to, bytes, now()); });
}

bool EventLog::begin_part() {
  if (!keeps_) return false;
  const MutexLock lock(mutex_);
  const Nanoseconds begin = now();
  part_.emplace(begin);
  for (const auto& [tag, places] : places_) {
    for (std::size_t i = 0; i < kLocations; ++i) {
      if (places[i]) part_->change_place(tag, Location::kNowhere, static_cast<Location>(i), places[i], begin);
    }
  }
  return true;
}

void EventLog::end_part() {
  const MutexLock lock(mutex_);
  part_.reset();
}

std::optional<HistoryPicture> EventLog::history() const {
  const auto [copy, until] = [this] {
    const MutexLock lock(mutex_);
    return std::pair(history_, now());
  }();
  return picture_of(copy, until);
}

std::optional<HistoryPicture> EventLog::part() const {
  const auto [copy, until] = [this] {
    const MutexLock lock(mutex_);
    return std::pair(part_, now());
  }();
  return picture_of(copy, until);
}

void EventLog::record(EventKind kind, DeviceId device, Nanoseconds begin, Address address, Bytes bytes) {
  record({kind, static_cast<std::uint16_t>(device.value()), begin, now(), address, bytes});
}

EventLog::Kept EventLog::kept() const {
  Kept kept;
  std::uint64_t next = 0, end = 0;
  {
    const MutexLock lock(mutex_);
    if (capacity_ == 0) return kept;
    next = oldest();
    end = recorded_;
  }
  kept.events.reserve(static_cast<std::size_t>(end - next));
  while (next < end) {
    const MutexLock lock(mutex_);
    next = std::max(next, oldest());  // overwritten meanwhile
    const std::uint64_t part = std::min(end, next + kPart);
    for (; next < part; ++next) kept.events.push_back(ring_[next % capacity_]);
  }
  kept.lost = end - kept.events.size();
  return kept;
}

}  // namespace tessera
