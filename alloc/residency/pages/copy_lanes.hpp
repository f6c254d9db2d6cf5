// The streams that pages are copied on: one pair for each memory that the device exchanges pages with, so that both
// directions and all links can be busy at once.
//
// Thread safety: immutable after create().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/location.hpp"
#include "driver/driver.hpp"

namespace tessera {

// A lane for the location at the other end of a copy, which is kHost or kPeer.
inline constexpr std::size_t kLanes = 2;
constexpr std::size_t lane_to(Location beside) { return beside == Location::kPeer ? 1 : 0; }

class CopyLanes {
 public:
  // Lanes to peers exist only with `peer`, where a device lends memory. Errors: the driver's.
  static Result<std::unique_ptr<CopyLanes>> create(Driver& driver, DeviceId device, bool peer);
  // Queued copies still run.
  ~CopyLanes();
  CopyLanes(const CopyLanes&) = delete;
  CopyLanes& operator=(const CopyLanes&) = delete;

  bool to_peer() const { return lanes_.size() > 1; }
  // A stream runs its copies in queue order. REQUIRES: the lane exists.
  StreamId inbound(Location beside) const { return lanes_[lane_to(beside)].in; }
  StreamId outbound(Location beside) const { return lanes_[lane_to(beside)].out; }

 private:
  struct Lane {
    StreamId in, out;
  };
  explicit CopyLanes(Driver& driver) : driver_(driver) {}

  Driver& driver_;
  std::vector<Lane> lanes_;        // indexed by lane_to()
  std::vector<StreamId> streams_;  // all streams of the lanes, also while create() is still adding them
};

}  // namespace tessera
