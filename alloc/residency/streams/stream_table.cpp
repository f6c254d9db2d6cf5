#include "residency/streams/stream_table.hpp"

#include <algorithm>
#include <utility>

#include "base/atomic_max.hpp"
#include "base/log.hpp"
#include "residency/streams/thread_key.hpp"

namespace tessera {
namespace {

// Operations on a stream that are not noted here as uses: the program's events and waits.
constexpr std::size_t kUncounted = 128;

}  // namespace

StreamTable::~StreamTable() {
  MutexLock lock(mutex_);
  for (Slot& slot : slots_) {
    for (User& user : slot.users) {
      for (const Fence& fence : user.pending) spare_events_.push_back(fence.event);
    }
  }
  for (EventId event : spare_events_) {
    if (Status status = driver_.destroy_event(event); !status.is_ok()) {
      log_line(LogLevel::kDebug, "a fence could not be destroyed: {}", status.to_string());
    }
  }
}

std::uint32_t StreamTable::find_slot(StreamId stream) {
  const std::uint64_t thread = stream == kPerThreadStream ? this_thread_key() : 0;
  const auto slot = keys_.find(stream, thread);
  return slot ? *slot : assign(stream, thread);
}

bool StreamTable::knows(StreamId stream) {
  const std::uint64_t thread = stream == kPerThreadStream ? this_thread_key() : 0;
  MutexLock lock(mutex_);
  for (std::uint32_t i = 0; i < used_slots_; ++i) {
    for (const User& user : slots_[i].users) {
      if (user.stream == stream && user.thread == thread && !user.retired) return true;
    }
  }
  return false;
}

std::uint32_t StreamTable::choose_slot(std::size_t hash) {
  if (used_slots_ < kSlots) return used_slots_++;
  look_for_ended_threads();
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    auto& users = slots_[i].users;
    std::erase_if(users, [](const User& user) { return user.retired && user.completed == Epoch::forever(); });
    if (users.empty()) return i;
  }
  return static_cast<std::uint32_t>(hash % kSlots);  // shared from now on
}

std::uint32_t StreamTable::assign(StreamId stream, std::uint64_t thread) {
  MutexLock lock(mutex_);
  for (std::uint32_t i = 0; i < used_slots_; ++i) {  // another thread was first, or no key was left
    for (const User& user : slots_[i].users) {
      if (user.stream == stream && user.thread == thread && !user.retired) return i;
    }
  }
  const std::uint32_t slot = choose_slot(StreamKeys::hash_of(stream, thread));
  User user;
  user.stream = stream;
  user.thread = thread;
  slots_[slot].users.push_back(std::move(user));
  slots_[slot].completed.store(Epoch());
  keys_.put(stream, thread, slot);
  return slot;
}

Epoch StreamTable::needed(const Slot& slot, Epoch epoch) { return std::min(epoch, slot.last.load()); }

std::vector<StreamTable::Fence>::const_iterator StreamTable::first_covering(const User& user, Epoch label) {
  return std::find_if(user.pending.begin(), user.pending.end(),
                      [label](const Fence& fence) { return fence.epoch >= label; });
}

Result<EventId> StreamTable::take_event() {
  if (spare_events_.empty()) return driver_.create_event(device_);
  const EventId event = spare_events_.back();
  spare_events_.pop_back();
  return event;
}

// The stream was destroyed without our knowledge, or takes no events of ours. Whatever was queued on it is over once
// the device is idle; a later wait waits for that.
Status StreamTable::declare_dead(User& user) {
  user.takes_events = false;
  const Status over = driver_.synchronize(device_, kMoment);
  if (over.code() == Code::kNotReady) return {};
  TESSERA_TRY(over);
  forget(user);
  return {};
}

// REQUIRES: its work is over.
void StreamTable::forget(User& user) {
  keys_.forget(user.stream, user.thread);
  user.retired = true;
  user.completed = Epoch::forever();
  drop_pending(user, user.pending.size());
}

bool StreamTable::is_left(const User& user) { return !user.retired && thread_has_ended(user.thread); }

// Only a thread itself can fence its own stream, so its work is known to be over only where its last fence covers
// everything noted.
void StreamTable::look_for_ended_threads() {
  for (Slot& slot : slots_) {
    if (std::ranges::none_of(slot.users, &StreamTable::is_left)) continue;
    if (Status status = poll_slot(slot); !status.is_ok()) {
      log_line(LogLevel::kDebug, "fences of threads that ended: {}", status.to_string());
      continue;
    }
    for (User& user : slot.users) {
      if (is_left(user) && user.pending.empty() && user.completed >= slot.last.load()) forget(user);
    }
  }
}

void StreamTable::drop_pending(User& user, std::size_t count) {
  const auto end = user.pending.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto fence = user.pending.begin(); fence != end; ++fence) spare_events_.push_back(fence->event);
  user.pending.erase(user.pending.begin(), end);
}

// A free stamps with the epoch it saw open. A thread that saw `label` open had queued its work before the epoch is
// closed here, hence before the event.
Status StreamTable::record(Slot& slot, User& user, Epoch label) {
  close(label);
  if (user.stream == kNoStream) {
    const Status over = driver_.synchronize(device_, kMoment);
    if (over.code() == Code::kNotReady) return {};  // a later wait waits for that
    TESSERA_TRY(over);
    user.completed = std::max(user.completed, label);
    return poll_slot(slot);
  }
  return record(user, label, slot.turn.load());
}

Status StreamTable::record(User& user, Epoch label, std::uint32_t turn) {
  EventId event;
  TESSERA_TRY_ASSIGN(event, take_event());
  if (Status status = driver_.record_event(event, user.stream); !status.is_ok()) {
    spare_events_.push_back(event);
    return status.code() == Code::kNotFound ? declare_dead(user) : status;
  }
  user.takes_events = true;
  if (user.pending.size() == kMaxPending) {  // drop the second newest: its progress is seen later
    spare_events_.push_back(user.pending.back().event);
    user.pending.pop_back();
  }
  user.pending.push_back({label, event, turn});
  return {};
}

Status StreamTable::fence_own(std::uint32_t index) {
  MutexLock lock(mutex_);
  Slot& slot = slots_[index];
  for (User& user : slot.users) {
    if (user.thread == this_thread_key()) TESSERA_TRY(record(slot, user, slot.last.load()));
  }
  return {};
}

// Work queued since work was last known to be over may fill the stream. A stream that makes progress will soon have
// room.
Result<bool> StreamTable::takes_fence(Slot& slot, User& user) {
  if (!can_be_asked(user)) return true;
  if (slot.turn.load() - user.turn + kUncounted < queue_depth_) return true;
  const Status looked = user.pending.empty() ? driver_.synchronize(user.stream, kMoment)
                                             : driver_.synchronize(user.pending.front().event, kMoment);
  if (looked.code() == Code::kNotReady) return false;
  if (!looked.is_ok()) return true;  // recording the fence reports or handles the error
  if (user.pending.empty()) user.turn = slot.turn.load();
  TESSERA_TRY(poll_slot(slot));
  return true;
}

// Everything noted so far is queued, on any slot: a fence covers it, also for questions asked after the slot's stream
// has queued more.
Status StreamTable::fence(std::uint64_t mask, Epoch epoch) {
  if (passed(mask, epoch)) return {};
  MutexLock lock(mutex_);
  const Epoch now = this->epoch();
  for (std::size_t i : SlotsIn{in_use(mask)}) {
    Slot& slot = slots_[i];
    const Epoch label = needed(slot, epoch);
    if (slot.completed.load() >= label) continue;
    for (User& user : slot.users) {
      const bool covered = user.completed >= label || (!user.pending.empty() && user.pending.back().epoch >= label);
      if (covered || user.retired || user.thread != 0) continue;
      bool takes = false;
      TESSERA_TRY_ASSIGN(takes, takes_fence(slot, user));
      if (takes) TESSERA_TRY(record(slot, user, std::max(now, slot.last.load())));
    }
  }
  return {};
}

Status StreamTable::poll_slot(Slot& slot) {
  for (User& user : slot.users) {
    std::size_t done = 0;
    Status status;
    while (done < user.pending.size()) {
      status = driver_.query(user.pending[done].event);
      if (!status.is_ok()) break;
      user.turn = user.pending[done].turn;
      user.completed = std::max(user.completed, user.pending[done++].epoch);
    }
    drop_pending(user, done);
    if (done != 0) progress_.note_ended(index_of(slot), done);
    if (!status.is_ok() && status.code() != Code::kNotReady) return status;
  }
  sum_up(slot);
  return {};
}

void StreamTable::sum_up(Slot& slot) {
  Epoch slowest = Epoch::forever();
  for (const User& user : slot.users) slowest = std::min(slowest, user.completed);
  if (!slot.users.empty()) slot.completed.store(slowest);
}

Status StreamTable::poll() {
  MutexLock lock(mutex_);
  for (std::uint32_t i = 0; i < used_slots_; ++i) {
    if (slots_[i].completed.load() < slots_[i].last.load()) TESSERA_TRY(poll_slot(slots_[i]));
  }
  return {};
}

bool StreamTable::passed(std::uint64_t mask, Epoch epoch) const {
  for (std::size_t i : SlotsIn{in_use(mask)}) {
    if (slots_[i].completed.load() < needed(slots_[i], epoch)) return false;
  }
  return true;
}

bool StreamTable::is_past_grace(std::uint64_t mask, Epoch epoch, std::uint32_t grace) const {
  if (grace == 0 || this->epoch() >= epoch + kGraceOfAll * grace) return true;
  for (std::size_t i : SlotsIn{mask}) {
    const Slot& slot = slots_[i];
    if (slot.last.load() < epoch) continue;  // the last use was on another stream
    const std::uint32_t turn = slot.turn.load(std::memory_order_relaxed);
    if (slot.recent[(turn - grace) % kMostGrace].load(std::memory_order_relaxed) <= epoch) return false;
  }
  return true;
}

Status StreamTable::make_wait(StreamId waiter, std::uint64_t mask, Epoch epoch) {
  if (passed(mask, epoch)) return {};
  MutexLock lock(mutex_);
  for (std::size_t i : SlotsIn{in_use(mask)}) {
    const Epoch label = needed(slots_[i], epoch);
    for (const User& user : slots_[i].users) {
      if (user.completed >= label) continue;
      const auto fence = first_covering(user, label);
      if (fence == user.pending.end() && can_be_asked(user)) return Status(Code::kBusy, "a stream takes no fence now");
      const Status waits = fence != user.pending.end() ? driver_.wait_event(waiter, fence->event)
                                                       : driver_.synchronize(device_, patience_);
      if (waits.code() == Code::kNotReady) return Status(Code::kBusy, "work that no event covers has not ended");
      TESSERA_TRY(waits);
    }
  }
  return {};
}

Status StreamTable::retire(StreamId stream) {
  MutexLock lock(mutex_);
  for (std::uint32_t i = 0; i < used_slots_; ++i) {
    for (User& user : slots_[i].users) {
      if (user.stream != stream || user.thread != 0 || user.retired) continue;
      TESSERA_TRY(record(slots_[i], user, slots_[i].last.load()));
      if (!user.pending.empty()) user.pending.back().epoch = Epoch::forever();
      user.retired = true;
    }
  }
  keys_.forget(stream, 0);
  return {};
}

Status StreamTable::mark(std::uint32_t index, Epoch epoch) {
  MutexLock lock(mutex_);
  for (User& user : slots_[index].users) {
    const bool own = user.thread == 0 || user.thread == this_thread_key();
    const bool covered = user.completed >= epoch || (!user.pending.empty() && user.pending.back().epoch >= epoch);
    if (!own || covered || user.retired || user.stream == kNoStream) continue;
    TESSERA_TRY(record(user, epoch, slots_[index].turn.load()));
  }
  return {};
}

std::optional<StreamTable::Reach> StreamTable::reach_of_next(std::uint32_t index) {
  MutexLock lock(mutex_);
  for (const User& user : slots_[index].users) {
    if (!user.pending.empty()) return Reach{user.completed, user.pending.front().epoch};
  }
  return std::nullopt;
}

// Fences that this makes redundant are recycled.
void StreamTable::note_over(Slot& slot, User& user, Epoch epoch) {
  if (user.retired || user.completed >= epoch) return;
  user.completed = epoch;
  user.turn = slot.turn.load();  // estimate: other threads have launched little there since
  const auto later = first_covering(user, epoch.next());
  drop_pending(user, static_cast<std::size_t>(later - user.pending.cbegin()));
  progress_.note_ended(index_of(slot), 1);
  sum_up(slot);
}

void StreamTable::note_over(StreamId stream, Epoch epoch) {
  const std::uint64_t thread = stream == kPerThreadStream ? this_thread_key() : 0;
  MutexLock lock(mutex_);
  for (std::uint32_t i = 0; i < used_slots_; ++i) {
    for (User& user : slots_[i].users) {
      if (user.stream == stream && user.thread == thread) note_over(slots_[i], user, epoch);
    }
  }
}

// Work on unknown streams (kNoStream) may belong to another device.
void StreamTable::note_all_over(Epoch epoch) {
  MutexLock lock(mutex_);
  for (std::uint32_t i = 0; i < used_slots_; ++i) {
    for (User& user : slots_[i].users) {
      if (user.stream != kNoStream) note_over(slots_[i], user, epoch);
    }
  }
}

StreamTable::Unpassed StreamTable::unpassed(std::uint64_t mask, Epoch epoch) {
  MutexLock lock(mutex_);
  Unpassed result;
  for (std::size_t i : SlotsIn{in_use(mask)}) {
    const Epoch label = needed(slots_[i], epoch);
    if (slots_[i].completed.load() >= label) continue;
    result.slots |= std::uint64_t{1} << i;
    for (const User& user : slots_[i].users) {
      if (result.can_be_looked_at || user.completed >= label) continue;
      const auto fence = first_covering(user, label);
      result.stream = user.stream;
      result.label = label;
      if (fence != user.pending.end()) result.fence = fence->event;
      if (!result.fence && !user.pending.empty()) result.fence = user.pending.back().event;
      result.can_be_looked_at = result.fence.has_value() || can_be_asked(user);
    }
  }
  return result;
}

std::vector<std::uint64_t> StreamTable::left_by_threads() {
  MutexLock lock(mutex_);
  std::vector<std::uint64_t> threads;
  for (const Slot& slot : slots_) {
    for (const User& user : slot.users) {
      if (is_left(user)) threads.push_back(user.thread);
    }
  }
  return threads;
}

Status StreamTable::note_device_idle(std::uint64_t mask, Epoch epoch, const std::vector<std::uint64_t>& left) {
  MutexLock lock(mutex_);
  for (Slot& slot : slots_) {
    for (User& user : slot.users) {
      if (std::ranges::find(left, user.thread) != left.end()) forget(user);
    }
  }
  for (std::size_t i : SlotsIn{in_use(mask)}) {
    const Epoch label = needed(slots_[i], epoch);
    for (User& user : slots_[i].users) user.completed = std::max(user.completed, label);
    TESSERA_TRY(poll_slot(slots_[i]));
  }
  return {};
}

}  // namespace tessera
