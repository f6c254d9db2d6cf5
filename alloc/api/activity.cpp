#include "api/activity.hpp"

#include <algorithm>

namespace tessera {

Activity::Counts Activity::counts() const {
  Counts now{.uses = uses()};
  for (DeviceHeap* const heap : heaps_.all()) {
    now.allocations += heap->blocks().stats().allocations;
    now.epochs += heap->residency().epoch().value();
  }
  return now;
}

std::uint64_t Activity::uses() const {
  std::uint64_t uses = 0;
  for (DeviceHeap* const heap : heaps_.all()) uses += heap->residency().uses_begun();
  return uses;
}

void Activity::follow(const Counts& now) {
  if (now == seen_) return;
  seen_ = now;
  used_ = clock_.now();
  asleep_ = false;
}

Activity::Report Activity::look() {
  const Counts now = counts();
  const MutexLock lock(mutex_);
  follow(now);
  const Nanoseconds at = clock_.now();
  return {at - std::min(at, used_), asleep_, sleeps_};
}

// Evicting may close an epoch of frees before it, so the epochs are read again.
void Activity::note_asleep(const Counts& before) {
  const Counts now = counts();
  const MutexLock lock(mutex_);
  follow(before);
  if (now.uses != before.uses || now.allocations != before.allocations) return;
  seen_ = now;
  asleep_ = true;
}

void Activity::note_idle_sleep(const Counts& before) {
  note_asleep(before);
  const MutexLock lock(mutex_);
  ++sleeps_;
}

void Activity::note_awake(bool all_there) {
  const MutexLock lock(mutex_);
  if (all_there) asleep_ = false;
}

}  // namespace tessera
