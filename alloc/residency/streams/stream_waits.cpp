// Bounded waits for work, and what is known of it without waiting.
#include <algorithm>

#include <fmt/format.h>

#include "base/atomic_max.hpp"
#include "residency/streams/slots_in.hpp"
#include "residency/streams/stream_table.hpp"

namespace tessera {
namespace {

// The first wait for one fence, after which the other streams are polled. Work that passes is seen at once; progress
// elsewhere is seen later the longer the wait has lasted.
constexpr Nanoseconds kLook{5'000'000};
constexpr std::uint64_t kLooksInPatience = 16;

// Operations on a stream that are not noted here as uses: the program's events and waits.
constexpr std::size_t kUncounted = 128;

Status does_not_end(const std::string& where, Nanoseconds waited) {
  return Status(Code::kNotReady, fmt::format("work on {} made no progress for {} ms: a kernel may be waiting for the "
                                             "program or for another kernel",
                                             where, waited.value() / 1'000'000));
}

}  // namespace

std::vector<StreamTable::Fence>::const_iterator StreamTable::first_covering(const User& user, Epoch label) {
  return std::find_if(user.pending.begin(), user.pending.end(),
                      [label](const Fence& fence) { return fence.epoch >= label; });
}

StreamTable::Unpassed StreamTable::unpassed(std::uint64_t mask, Epoch epoch) {
  MutexLock lock(mutex_);
  Unpassed result;
  for (std::size_t i : SlotsIn{mask}) {
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

Nanoseconds StreamTable::look_for(std::uint64_t slots) const {
  std::uint64_t quiet = 0;
  for (std::size_t i : SlotsIn{slots}) quiet = std::max(quiet, slots_[i].quiet.load());
  const Nanoseconds longest = std::max(patience_ / kLooksInPatience, Nanoseconds(1));
  return std::min(std::max(kLook, Nanoseconds(quiet / kLooksInPatience)), longest);
}

// Without a fence the stream itself is waited for.
Status StreamTable::look_at(const Unpassed& rest, Nanoseconds limit) {
  return rest.fence ? driver_.synchronize(*rest.fence, limit) : driver_.synchronize(rest.stream, limit);
}

std::uint64_t StreamTable::passes(std::uint64_t slots) const {
  std::uint64_t sum = 0;
  for (std::size_t i : SlotsIn{slots}) sum += slots_[i].passes.load();
  return sum;
}

// True while one of the slots has been waited for less than its bound: it may be what the others wait for.
bool StreamTable::is_patient(std::uint64_t slots, Bound bound) const {
  for (std::size_t i : SlotsIn{slots}) {
    if (slots_[i].quiet.load() < bound_of(slots_[i], bound)) return true;
  }
  return false;
}

Nanoseconds StreamTable::quiet_of(std::uint64_t slots) const {
  return Nanoseconds(slots_[SlotsIn{slots}.begin().operator*()].quiet.load());
}

// Until is_patient() is false.
Nanoseconds StreamTable::time_left(std::uint64_t slots, Bound bound) const {
  std::uint64_t left = 1;
  for (std::size_t i : SlotsIn{slots}) {
    const std::uint64_t quiet = slots_[i].quiet.load(), most = bound_of(slots_[i], bound);
    left = std::max(left, most - std::min(most, quiet));
  }
  return Nanoseconds(left);
}

std::uint64_t StreamTable::bound_of(const Slot& slot, Bound bound) const {
  if (bound == Bound::kWhole) return patience_.value() * kWholePatience;
  const bool waits = slot.waiter.load() > slot.completed.load();
  return waits ? std::min(slot.allowance.load(), patience_.value()) : patience_.value();
}

void StreamTable::note_waited(std::uint64_t slots, std::uint64_t passes_before, Nanoseconds time) {
  const bool news = passes(slots) != passes_before;
  for (std::size_t i : SlotsIn{slots}) {
    if (news) {
      slots_[i].quiet.store(0);
    } else {
      slots_[i].quiet.fetch_add(time.value());
    }
  }
}

Status StreamTable::wait(std::uint64_t mask, Epoch epoch, Bound bound) {
  if (!passed(mask, epoch)) TESSERA_TRY(poll());  // it may have ended since the last wait gave up
  while (!passed(mask, epoch)) {
    const Unpassed rest = unpassed(mask, epoch);
    if (rest.slots == 0) continue;
    // Without a fence to wait for (a thread ended before it fenced its own stream), waits for the device.
    if (!rest.can_be_looked_at) return wait_for_device(mask, epoch, rest.slots, bound);
    if (!is_patient(rest.slots, bound)) {
      return does_not_end(fmt::format("stream {:#x}", rest.stream.value()), quiet_of(rest.slots));
    }
    const std::uint64_t before = passes(rest.slots);
    const Nanoseconds look = look_for(rest.slots);
    const Status status = look_at(rest, look);
    if (!status.is_ok() && status.code() != Code::kNotReady) {
      if (!rest.fence) return wait_for_device(mask, epoch, rest.slots, bound);  // the stream may be gone
      return status;
    }
    if (status.is_ok() && !rest.fence) note_over(rest.stream, rest.label);
    TESSERA_TRY(poll());
    if (!status.is_ok()) note_waited(rest.slots, before, look);
  }
  return {};
}

std::uint64_t StreamTable::stuck() const {
  std::uint64_t slots = 0;
  for (std::size_t i = 0; i < kSlots; ++i) {
    const bool over = slots_[i].completed.load() >= slots_[i].last.load();
    if (!over && slots_[i].quiet.load() >= bound_of(slots_[i], Bound::kPatience)) slots |= std::uint64_t{1} << i;
  }
  return slots;
}

Result<bool> StreamTable::await_news(std::uint64_t slots) {
  const std::uint64_t before = passes(slots);
  TESSERA_TRY(poll());
  while (passes(slots) == before) {
    const Unpassed rest = unpassed(slots, kAllSoFar);
    if (rest.slots != slots) return true;
    if (!is_patient(slots, Bound::kWhole)) return false;
    if (!rest.can_be_looked_at) {
      const Nanoseconds longest = time_left(slots, Bound::kWhole);
      const Status over = driver_.synchronize(device_, longest);
      if (over.code() != Code::kNotReady) return over.is_ok() ? Result<bool>(true) : Result<bool>(over);
      TESSERA_TRY(poll());
      note_waited(slots, before, longest);
      continue;
    }
    const Nanoseconds look = look_for(rest.slots);
    const Status status = look_at(rest, look);
    if (!status.is_ok() && status.code() != Code::kNotReady) return status;
    if (status.is_ok() && !rest.fence) return true;
    TESSERA_TRY(poll());
    if (!status.is_ok()) note_waited(slots, before, look);
  }
  return true;
}

Status StreamTable::wait_for_all(Epoch epoch) {
  TESSERA_TRY(fence(kAllStreams, epoch));
  return wait(kAllStreams, epoch);
}

// Keys of threads that have ended and will queue nothing more.
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

// `slots`: those in `mask` whose work is not known to be over.
Status StreamTable::wait_for_device(std::uint64_t mask, Epoch epoch, std::uint64_t slots, Bound bound) {
  close(epoch);
  const std::vector<std::uint64_t> left = left_by_threads();
  for (;;) {
    if (!is_patient(slots, bound)) return does_not_end("the device", quiet_of(slots));
    const std::uint64_t before = passes(slots);
    const Nanoseconds longest = time_left(slots, bound);
    const Status over = driver_.synchronize(device_, longest);
    if (over.is_ok()) break;
    if (over.code() != Code::kNotReady) return over;
    TESSERA_TRY(poll());
    note_waited(slots, before, longest);
  }
  MutexLock lock(mutex_);
  for (Slot& slot : slots_) {
    for (User& user : slot.users) {
      if (std::ranges::find(left, user.thread) != left.end()) forget(user);
    }
  }
  for (std::size_t i : SlotsIn{mask}) {
    const Epoch label = needed(slots_[i], epoch);
    for (User& user : slots_[i].users) user.completed = std::max(user.completed, label);
    TESSERA_TRY(poll_slot(slots_[i]));
  }
  return {};
}

void StreamTable::note_waiter(std::uint32_t index, Epoch epoch, Nanoseconds allowance) {
  Slot& slot = slots_[index];
  slot.allowance.store(allowance.value());
  raise_to(slot.waiter, epoch);
}

void StreamTable::note_passes(Slot& slot, std::uint64_t count) {
  slot.passes.fetch_add(count);
  slot.quiet.store(0);
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
  note_passes(slot, 1);
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

}  // namespace tessera
