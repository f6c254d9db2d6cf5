#include "engine_turns.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace tessera::softcuda {
namespace {

// An owner that was killed is noticed after this time.
constexpr std::chrono::milliseconds kBetweenLooks{10};

std::uint64_t monotonic_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

std::chrono::nanoseconds time_since(std::uint64_t then) {
  const std::uint64_t now = monotonic_now();
  return std::chrono::nanoseconds(static_cast<std::int64_t>(now > then ? now - then : 0));
}

// Returns false on timeout.
bool wait_for_bell(const std::atomic<std::uint32_t>& bell, std::uint32_t heard) {
  const timespec limit{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kBetweenLooks).count()};
  return ::syscall(SYS_futex, &bell, FUTEX_WAIT, heard, &limit, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

}  // namespace

void SharedMutex::init() {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&mutex_, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
}

// What it guards is changed by single stores, and is valid after each of them.
void SharedMutex::lock() {
  if (::pthread_mutex_lock(&mutex_) == EOWNERDEAD) ::pthread_mutex_consistent(&mutex_);
}

void EngineTurns::enter() {
  const MutexLock lock(mutex_);
  for (;;) {
    if (is_owner() && !is_due()) break;
    if (is_owner() && inside_ == 0) hand_over();
    if (is_owner() || waits_) {
      // Others of this process are inside: until they leave or pause, or until they lost the turn.
      changed_.wait_for(mutex_, kBetweenLooks);
      continue;
    }
    waits_ = true;
    mutex_.unlock();
    wait_for_turn();
    mutex_.lock();
    waits_ = false;
    changed_.notify_all();
  }
  ++inside_;
}

void EngineTurns::leave(bool more) {
  const MutexLock lock(mutex_);
  --inside_;
  if (inside_ == 0 && is_owner() && (!more || is_due())) hand_over();
  changed_.notify_all();
}

void EngineTurns::pause() {
  if (is_owner() && !is_due()) return;
  leave(true);
  enter();
}

bool EngineTurns::is_due() const {
  const std::uint64_t others = state_.waiting.load(std::memory_order_relaxed) & ~(std::uint64_t{1} << process_.row);
  return others != 0 && time_since(state_.since.load()) >= kSlice;
}

// To the next row that waits, in a circle.
void EngineTurns::hand_over() {
  process_.mutex.lock();
  if (is_owner()) {
    const std::uint64_t waiting = state_.waiting.load();
    std::uint32_t next = 0;
    for (unsigned step = 1; step < 64 && next == 0; ++step) {
      const unsigned row = (process_.row + step) % 64;
      if ((waiting >> row & 1) != 0) next = row + 1;
    }
    if (next != 0) state_.waiting.fetch_and(~(std::uint64_t{1} << (next - 1)));
    state_.since.store(monotonic_now());
    state_.owner.store(next);
    ++state_.bell;
    ::syscall(SYS_futex, &state_.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
  process_.mutex.unlock();
}

void EngineTurns::wait_for_turn() {
  const std::uint64_t own = std::uint64_t{1} << process_.row;
  bool look = false;
  process_.mutex.lock();
  while (!is_owner()) {
    const std::uint32_t owner = state_.owner.load();
    const bool over =
        owner == 0 || time_since(state_.since.load()) > kSlice + patience_ || (look && !process_.is_alive(owner - 1));
    if (over) {
      state_.since.store(monotonic_now());
      state_.owner.store(process_.row + 1);
      break;
    }
    state_.waiting.fetch_or(own);
    const std::uint32_t heard = state_.bell.load();
    process_.mutex.unlock();
    look = !wait_for_bell(state_.bell, heard);
    process_.mutex.lock();
  }
  state_.waiting.fetch_and(~own);
  process_.mutex.unlock();
}

}  // namespace tessera::softcuda
