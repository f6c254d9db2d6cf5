// The streams that pages are copied on: one pair for each memory that the device exchanges pages with, so that both
// directions and all links can be busy at once.
//
// Thread safety: immutable after create().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/driver.hpp"

namespace tessera {

// The memory at the other end of a copy.
enum class CopyLocation : std::uint8_t { kHost, kPeer };
inline constexpr std::size_t kBesides = 2;

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
  StreamId inbound(CopyLocation beside) const { return lanes_[static_cast<std::size_t>(beside)].in; }
  StreamId outbound(CopyLocation beside) const { return lanes_[static_cast<std::size_t>(beside)].out; }

 private:
  struct Lane {
    StreamId in, out;
  };
  explicit CopyLanes(Driver& driver) : driver_(driver) {}

  Driver& driver_;
  std::vector<Lane> lanes_;        // indexed by Beside
  std::vector<StreamId> streams_;  // all streams of the lanes, also while create() is still adding them
};

}  // namespace tessera
