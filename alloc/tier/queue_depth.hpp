// How many requests to keep in flight on one disk in one direction: measured during operation.
//
// Too few leave a disk idle; more than it needs only make each request slower, and delay later reads. So the first
// transfers that are large enough to fill the queue run at several depths in turn, each measured over a fixed number of
// bytes, and the smallest depth that is nearly as fast as the best is kept. The speed is computed from the latency of
// each request: with that many in flight all the time, a disk moves that many per latency. The time from the first
// completion to the last would mislead: a disk that reports many completions at once, as that of a virtual machine may,
// would seem to move them in no time.
// Nothing is read or written just for the measurement, so it causes no wear.
//
// Thread safety: none; the owner locks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.hpp"

namespace tessera {

class QueueDepth {
 public:
  static constexpr std::array<unsigned, 4> kDepths = {8, 16, 32, 64};
  static constexpr unsigned kMost = 64;
  static constexpr int kRounds = 3;
  // Bytes moved while a depth is measured, once everything queued at the previous one has completed.
  static constexpr Bytes kMeasured = 32_MiB;

  // Tries kDepths.
  QueueDepth();
  // Uses one depth only, and measures its speed.
  explicit QueueDepth(unsigned only);

  unsigned depth() const { return depths_[candidate_]; }
  // A request of `bytes` completed after `took`; `full`: depth() requests were in flight and more were waiting. A
  // request with a queue that was not full is not measured.
  void ended(Bytes bytes, Nanoseconds took, bool full);
  bool is_settled() const { return round_ == kRounds; }
  // Bytes per second at depth(); 0 before it is settled.
  std::uint64_t speed() const { return speed_; }

 private:
  void begin_stretch();
  void next();
  void settle();

  std::vector<unsigned> depths_;
  std::size_t candidate_;
  int round_ = 0;
  // Since the queue was last not full: requests that may have been queued at another depth, and those after them.
  unsigned before_ = 0;
  Bytes moved_;
  Nanoseconds took_;                                        // sum over these requests
  std::vector<std::array<std::uint64_t, kRounds>> speeds_;  // by depth
  std::size_t measured_ = 0;                                // candidates of this round
  std::uint64_t speed_ = 0;
};

}  // namespace tessera
