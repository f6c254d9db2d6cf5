// How many requests to keep in flight on one disk, in one direction: found while it works.
//
// Too few leave a disk idle; more than it needs only make each of them slower, and what is read behind
// them late. So the first transfers that are large enough to fill the queue are done at several depths in
// turn, each measured over a stretch of bytes, and the smallest that is nearly as fast as the best stays.
// The speed follows from how long each request took: with so many in flight all the time, a disk moves so
// many in that time. From the first end to the last it would not: a disk that tells many ends at once, as
// that of a virtual machine may, would seem to move them in no time.
// Nothing is written or read for it alone: a disk that wears out is not worn by asking.
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
  // What is moved while a depth is measured, once all that was queued at another one has ended.
  static constexpr Bytes kMeasured = 32_MiB;

  // Tries kDepths.
  QueueDepth();
  // Keeps to one depth, and finds out the speed at it.
  explicit QueueDepth(unsigned only);

  unsigned depth() const { return depths_[candidate_]; }
  // A request of `bytes` ended that took so long; `full`: as many as depth() were in flight, and more waited.
  // What is not full says nothing about the disk.
  void ended(Bytes bytes, Nanoseconds took, bool full);
  bool is_settled() const { return round_ == kRounds; }
  // At depth(), bytes per second; 0 before it is settled.
  std::uint64_t speed() const { return speed_; }

 private:
  void begin_stretch();
  void next();
  void settle();

  std::vector<unsigned> depths_;
  std::size_t candidate_;
  int round_ = 0;
  // Of the stretch without a gap: requests that may have been queued at another depth, and what came after.
  unsigned before_ = 0;
  Bytes moved_;
  Nanoseconds took_;  // by all of these requests together
  std::vector<std::array<std::uint64_t, kRounds>> speeds_;  // of each depth
  std::size_t measured_ = 0;  // candidates in this round
  std::uint64_t speed_ = 0;
};

}  // namespace tessera
