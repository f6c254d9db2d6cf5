#include "residency/streams/stream_table.hpp"

#include <algorithm>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/atomic_max.hpp"
#include "base/log.hpp"
#include "residency/streams/slots_in.hpp"

namespace tessera {
namespace {

constexpr std::uint32_t kForgotten = ~std::uint32_t{0};  // marks a key of a retired stream

// The threads that have a key. Never destroyed: a thread may end after static destruction.
struct Living {
  Mutex mutex{LockRank::kObserve};
  std::unordered_set<std::uint64_t> keys GUARDED_BY(mutex);
  std::uint64_t next GUARDED_BY(mutex) = 1;
};
Living& living() {
  static Living& all = *new Living;
  return all;
}

constinit thread_local std::uint64_t own_key = 0;

// Uses by the thread after this get another key, which is never reported as ended.
struct EndsKey {
  ~EndsKey() {
    Living& all = living();
    MutexLock lock(all.mutex);
    all.keys.erase(std::exchange(own_key, 0));
  }
};

std::uint64_t take_thread_key() {
  static thread_local EndsKey at_thread_end;
  (void)at_thread_end;
  Living& all = living();
  MutexLock lock(all.mutex);
  own_key = all.next++;
  all.keys.insert(own_key);
  return own_key;
}

bool has_ended(std::uint64_t thread) {
  if (thread == 0) return false;
  Living& all = living();
  MutexLock lock(all.mutex);
  return !all.keys.contains(thread);
}

}  // namespace

std::uint64_t StreamTable::this_thread_key() { return own_key != 0 ? own_key : take_thread_key(); }

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
  const std::size_t start = hash_of(stream, thread);
  for (std::size_t i = 0; i < kKeys; ++i) {
    const Key& key = keys_[(start + i) % kKeys];
    const std::uint32_t slot_plus_one = key.slot_plus_one.load(std::memory_order_acquire);
    if (slot_plus_one == 0) break;
    if (slot_plus_one == kForgotten || key.stream.load(std::memory_order_acquire) != stream.value() ||
        key.thread.load(std::memory_order_acquire) != thread) {
      continue;
    }
    // The key may be reassigned between the loads: then the slot has changed too, or is still right.
    if (key.slot_plus_one.load(std::memory_order_relaxed) == slot_plus_one) return slot_plus_one - 1;
  }
  return assign(stream, thread);
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
  const std::size_t hash = hash_of(stream, thread);
  const std::uint32_t slot = choose_slot(hash);
  User user;
  user.stream = stream;
  user.thread = thread;
  slots_[slot].users.push_back(std::move(user));
  slots_[slot].completed.store(Epoch());
  for (std::size_t i = 0; i < kKeys; ++i) {
    Key& key = keys_[(hash + i) % kKeys];
    const std::uint32_t state = key.slot_plus_one.load(std::memory_order_relaxed);
    if (state != 0 && state != kForgotten) continue;
    key.stream.store(stream.value(), std::memory_order_release);
    key.thread.store(thread, std::memory_order_release);
    key.slot_plus_one.store(slot + 1, std::memory_order_release);
    break;
  }
  return slot;
}

Epoch StreamTable::needed(const Slot& slot, Epoch epoch) { return std::min(epoch, slot.last.load()); }

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
  forget_key(user.stream, user.thread);
  user.retired = true;
  user.completed = Epoch::forever();
  drop_pending(user, user.pending.size());
}

// The handle may be reused for a new stream, which is another user.
void StreamTable::forget_key(StreamId stream, std::uint64_t thread) {
  for (Key& key : keys_) {
    if (key.slot_plus_one.load() != 0 && key.stream.load() == stream.value() && key.thread.load() == thread) {
      key.slot_plus_one.store(kForgotten);
    }
  }
}

bool StreamTable::is_left(const User& user) { return !user.retired && has_ended(user.thread); }

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

// Everything noted so far is queued, on any slot: a fence covers it, also for questions asked after the slot's stream
// has queued more.
Status StreamTable::fence(std::uint64_t mask, Epoch epoch) {
  MutexLock lock(mutex_);
  const Epoch now = this->epoch();
  for (std::size_t i : SlotsIn{mask}) {
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
    if (done != 0) note_passes(slot, done);
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
  for (std::size_t i : SlotsIn{mask}) {
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
  for (std::size_t i : SlotsIn{mask}) {
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
  forget_key(stream, 0);
  return {};
}

}  // namespace tessera
