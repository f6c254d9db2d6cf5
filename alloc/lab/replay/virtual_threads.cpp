#include "lab/replay/virtual_threads.hpp"

#include <algorithm>
#include <thread>
#include <tuple>
#include <vector>

#include "base/thread.hpp"

namespace tessera {

Status VirtualThreads::run(std::span<const std::function<void()>> bodies) {
  clock_.share_by(this);
  std::vector<std::thread> threads(bodies.size());
  Status started;
  {
    const MutexLock lock(mutex_);
    members_.clear();
    members_.resize(bodies.size());
    cancelled_ = false;
    for (std::size_t i = 0; i < bodies.size() && started.is_ok(); ++i) {
      started = start_thread(threads[i], [this, i, &body = bodies[i]] { live(i, body); });
    }
    cancelled_ = !started.is_ok();
    if (cancelled_) {
      for (Member& member : members_) member.changed.notify_all();
    } else {
      pass_on();
    }
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  clock_.share_by(nullptr);
  return started;
}

void VirtualThreads::live(std::size_t index, const std::function<void()>& body) {
  {
    const MutexLock lock(mutex_);
    await_turn(members_[index]);
    if (cancelled_) return;
  }
  body();
  const MutexLock lock(mutex_);
  members_[index].state = State::kOver;
  pass_on();
}

void VirtualThreads::await_turn(Member& self) {
  while (running_ != &self && !cancelled_) self.changed.wait(mutex_);
}

// The calling thread is the one that runs: no other is outside of await_turn().
bool VirtualThreads::step_within(Nanoseconds limit) {
  const MutexLock lock(mutex_);
  Member& self = *running_;
  self.state = State::kWaits;
  self.limit = limit;
  pass_on();
  await_turn(self);
  return self.stepped;
}

void VirtualThreads::pass_on() {
  for (;;) {
    const auto next = std::ranges::find(members_, State::kReady, &Member::state);
    if (next != members_.end()) {
      running_ = &*next;
      running_->changed.notify_all();
      return;
    }
    running_ = nullptr;
    if (std::ranges::all_of(members_, [](const Member& each) { return each.state == State::kOver; })) return;
    advance();
  }
}

// By one action, or up to the earliest end of a wait. If nothing is left to wait for, all of them are refused in turn.
void VirtualThreads::advance() {
  const auto waits = [](const Member& each) { return each.state == State::kWaits; };
  Member* earliest = nullptr;
  for (Member& each : members_) {
    if (!waits(each)) continue;
    if (earliest == nullptr ||
        std::tuple(each.limit, each.refused_at) < std::tuple(earliest->limit, earliest->refused_at)) {
      earliest = &each;
    }
  }
  const Nanoseconds limit = earliest->limit;
  mutex_.unlock();
  const bool stepped = clock_.advance_within(limit);
  mutex_.lock();
  if (!stepped) {
    earliest->refused_at = ++refusals_;
    earliest->stepped = false;
    earliest->state = State::kReady;
    return;
  }
  for (Member& each : members_) {
    if (!waits(each)) continue;
    each.stepped = true;
    each.state = State::kReady;
  }
}

}  // namespace tessera
