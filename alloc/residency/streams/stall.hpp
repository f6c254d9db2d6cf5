// How long one call of the program waits, and for what.
//
// Each wait is timed where it happens, by a StallWait. The rest of the call's time is its own work on pages, so the
// parts add up to the whole.
//
// Thread safety: none; a call's own, changed under the engine's lock.
#pragma once

#include <array>
#include <cstdint>

#include "observe/event_log.hpp"
#include "observe/stall_cause.hpp"

namespace tessera {

class Stall {
 public:
  explicit Stall(const EventLog& log) : log_(log) {}

  Nanoseconds now() const { return log_.now(); }
  Profiler* profiler() const { return log_.profiler(); }
  // The call has the lock: it begins, or continues after having released it for others, and waited for `cause`
  // meanwhile.
  void go_on();
  void step_aside(StallCause cause = StallCause::kOtherCalls);
  // Adds a wait of this length.
  void add(StallCause cause, Nanoseconds time);

  bool has_waited() const { return waited_ != 0; }
  Nanoseconds begin() const { return begin_; }
  // The cause with the longest wait. REQUIRES: has_waited().
  StallCause main_cause() const;
  // For a call that ends at `end`: one stall under its main cause, and its time by cause. REQUIRES: has_waited().
  StallParts parts(Nanoseconds end) const;

 private:
  const EventLog& log_;
  bool begun_ = false;
  Nanoseconds begin_, aside_;
  StallCause aside_cause_ = StallCause::kOtherCalls;
  std::uint32_t waited_ = 0;  // a bit for each cause that occurred
  std::array<Nanoseconds, kStallCauses> times_;
};

// One wait. Not timed without a stall (no call of the program waits, or it asked to wait).
class StallWait {
 public:
  StallWait(Stall* stall, StallCause cause)
      : stall_(stall), cause_(cause), shown_(stall != nullptr ? stall->profiler() : nullptr, name_of(cause)) {
    if (stall_ != nullptr) begin_ = stall_->now();
  }
  ~StallWait() {
    if (stall_ != nullptr) stall_->add(cause_, stall_->now() - begin_);
  }
  StallWait(const StallWait&) = delete;
  StallWait& operator=(const StallWait&) = delete;

 private:
  Stall* const stall_;
  const StallCause cause_;
  const ProfilerRange shown_;
  Nanoseconds begin_;
};

}  // namespace tessera
