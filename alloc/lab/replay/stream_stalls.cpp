#include "lab/replay/stream_stalls.hpp"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

// The program's waits, queried for consecutive intervals.
class Waits {
 public:
  explicit Waits(std::span<const HostWait> waits) : rest_(waits) {}

  // REQUIRES: begin <= end, and no earlier interval extends beyond begin.
  void share(Nanoseconds begin, Nanoseconds end, StreamStalls& stalls) {
    while (begin < end) {
      while (!rest_.empty() && rest_.front().end <= begin) rest_ = rest_.subspan(1);
      if (rest_.empty() || rest_.front().begin >= end) break;
      const HostWait& wait = rest_.front();
      if (wait.begin > begin) stalls.other += wait.begin - begin;
      begin = std::max(begin, wait.begin);
      const Nanoseconds until = std::min(end, wait.end);
      stalls.by_cause[static_cast<std::size_t>(wait.cause)] += until - begin;
      begin = until;
    }
    stalls.other += end - begin;
  }

 private:
  std::span<const HostWait> rest_;
};

}  // namespace

Nanoseconds StreamStalls::total() const { return std::accumulate(by_cause.begin(), by_cause.end(), recompute + other); }

StreamStalls stalls_between(Nanoseconds begin, Nanoseconds end, std::span<const StreamWork> work,
                            std::span<const HostWait> given) {
  StreamStalls stalls;
  Waits waits(given);
  Nanoseconds at = begin;
  for (const StreamWork& each : work) {
    const Nanoseconds from = std::clamp(each.begin, at, end), to = std::clamp(each.end, at, end);
    const Nanoseconds queued = std::clamp(each.queued, at, from);
    waits.share(at, queued, stalls);
    stalls.by_cause[static_cast<std::size_t>(StallCause::kCopyIn)] += from - queued;
    if (each.recomputes) stalls.recompute += to - from;
    at = to;
  }
  waits.share(at, end, stalls);
  return stalls;
}

}  // namespace tessera
