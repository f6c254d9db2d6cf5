// The streams that pages are copied on: one pair for each memory that the device exchanges pages with, so that both
// directions and all links can be busy at once. Each device that lends is a memory of its own: a run whose pages lie
// with several of them crosses all their links at a time.
//
// Thread safety: immutable after create().
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/driver.hpp"

namespace tessera {

inline constexpr std::size_t kHostLane = 0;
constexpr std::size_t lane_to_lender(std::size_t lender) { return 1 + lender; }
inline constexpr std::size_t kMostLanes = 256;  // Page::lender has eight bits
using LaneSet = std::bitset<kMostLanes>;

class CopyLanes {
 public:
  // One to the host, and one to each of so many lenders. REQUIRES: fewer than kMostLanes. Errors: the driver's.
  static Result<std::unique_ptr<CopyLanes>> create(Driver& driver, DeviceId device, std::size_t lenders);
  // Queued copies still run.
  ~CopyLanes();
  CopyLanes(const CopyLanes&) = delete;
  CopyLanes& operator=(const CopyLanes&) = delete;

  bool to_peer() const { return lanes_.size() > 1; }
  std::size_t count() const { return lanes_.size(); }
  const LaneSet& all() const { return all_; }
  // A stream runs its copies in queue order. REQUIRES: the lane exists.
  StreamId inbound(std::size_t lane) const { return lanes_[lane].in; }
  StreamId outbound(std::size_t lane) const { return lanes_[lane].out; }

 private:
  struct Lane {
    StreamId in, out;
  };
  explicit CopyLanes(Driver& driver) : driver_(driver) {}

  Driver& driver_;
  std::vector<Lane> lanes_;
  LaneSet all_;                    // bits of the lanes
  std::vector<StreamId> streams_;  // all streams of the lanes, also while create() is still adding them
};

}  // namespace tessera
