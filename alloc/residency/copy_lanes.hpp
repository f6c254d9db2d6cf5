// The streams that pages are copied on: a pair for each memory beside the device's own, so that both ways, and the
// links, are busy at once.
//
// Thread safety: immutable after create().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/driver.hpp"

namespace tessera {

// The memory at the other end.
enum class Beside : std::uint8_t { kHost, kPeer };
inline constexpr std::size_t kBesides = 2;

class CopyLanes {
 public:
  // Those to a peer only where one lends: `peer`. Errors: the driver's.
  static Result<std::unique_ptr<CopyLanes>> create(Driver& driver, DeviceId device, bool peer);
  // What is queued still runs.
  ~CopyLanes();
  CopyLanes(const CopyLanes&) = delete;
  CopyLanes& operator=(const CopyLanes&) = delete;

  bool to_peer() const { return lanes_.size() > 1; }
  // Each runs its copies in the order in which they were queued. REQUIRES: it is there.
  StreamId inbound(Beside beside) const { return lanes_[static_cast<std::size_t>(beside)].in; }
  StreamId outbound(Beside beside) const { return lanes_[static_cast<std::size_t>(beside)].out; }

 private:
  struct Lane {
    StreamId in, out;
  };
  explicit CopyLanes(Driver& driver) : driver_(driver) {}

  Driver& driver_;
  std::vector<Lane> lanes_;        // by memory
  std::vector<StreamId> streams_;  // of all of them, also while they are made
};

}  // namespace tessera
