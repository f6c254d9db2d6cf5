#include "base/virtual_clock.hpp"

#include <algorithm>
#include <utility>

#include "base/atomic_max.hpp"

namespace tessera {
namespace {

constexpr Nanoseconds kForever{~std::uint64_t{0}};

}  // namespace

void VirtualClock::schedule(Nanoseconds at, std::function<void()> action) {
  const MutexLock lock(mutex_);
  due_.push_back({std::max(at, now()), next_turn_++, std::move(action)});
  std::push_heap(due_.begin(), due_.end(), is_later);
}

bool VirtualClock::step() { return step_within(kForever); }

bool VirtualClock::step_within(Nanoseconds limit) {
  return sharing_ != nullptr ? sharing_->step_within(limit) : advance_within(limit);
}

bool VirtualClock::advance_within(Nanoseconds limit) {
  std::function<void()> action;
  {
    const MutexLock lock(mutex_);
    if (due_.empty() || due_.front().at > limit) return false;
    std::pop_heap(due_.begin(), due_.end(), is_later);
    acting_.fetch_add(1, std::memory_order_relaxed);  // before another thread can find the action gone
    raise_to(now_, due_.back().at.value());
    action = std::move(due_.back().action);
    due_.pop_back();
  }
  action();
  acting_.fetch_sub(1, std::memory_order_release);
  return true;
}

void VirtualClock::run_until(Nanoseconds until) {
  while (step_within(until)) continue;
  raise_to(now_, until.value());
}

}  // namespace tessera
