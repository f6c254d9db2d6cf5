// The simulated machine's addresses: reserved ranges, and which frame is mapped where, for which devices.
//
// Where contents are real, accessing an address without a frame, or without access, is a real fault (SimAddresses). The
// bookkeeping is exact in any case and refuses what a GPU would leave undefined. It does not track queued work:
// SimDriver checks the engines before it unmaps.
//
// A mapping takes effect with its first access: until then the addresses stay empty, as they are without access on a
// GPU. SimPool explains how pages get there.
//
// Thread safety: none; SimDriver locks.
//
// Invariants (validate()): ranges are disjoint; every mapping lies within one range, overlaps no
// other, is as large as its frame, and is counted there.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/units.hpp"
#include "sim/sim_addresses.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_frames.hpp"
#include "sim/sim_work.hpp"

namespace tessera {

// A range of addresses that work may use.
struct SimBytes {
  FrameLocation location = FrameLocation::kDevice;  // of the first byte
  DeviceId device{};                                // the owner of that byte's frame
  std::span<std::byte> bytes;                       // empty on a machine without contents
  std::vector<SimRange> in_host{};                  // stretches that are mapped to host frames
};

class SimMemory {
 public:
  explicit SimMemory(const SimOptions& options);
  ~SimMemory();
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  // The rules of these are those of driver.hpp.
  Result<Address> reserve(Bytes bytes, Bytes alignment, Address hint = {});
  Result<Address> reserve_beside_host(Bytes bytes);
  Status release(Address address, Bytes bytes);
  Result<FrameId> create_frame(DeviceId device, FrameLocation location, Bytes bytes);
  Status map(Address address, Bytes bytes, FrameId frame);
  Status set_access(Address address, Bytes bytes, DeviceId device);
  Status unmap(Address address, Bytes bytes);

  SimFrames& frames() { return frames_; }
  std::optional<SimFrameInfo> frame(FrameId frame) const;
  std::optional<SimMapping> mapping_at(Address address) const;
  // Whether any byte is in a reserved range.
  bool overlaps_reserved(const SimRange& range) const;
  // Errors: native 1 where a byte is not mapped, or not accessible to a copy engine of `device`. It may use all that
  // its device has access to, and memory of a peer that the peer has access to. Host memory is no device's.
  Result<SimBytes> bytes_at(Address address, Bytes bytes, DeviceId device) const;

  std::vector<std::string> leaks() const;
  Status validate() const;

 private:
  struct Mapping {
    std::uint64_t bytes = 0;
    SimFrames::Frame* frame = nullptr;  // its address is stable while it is mapped
    std::uint64_t access = 0;
  };
  using Mappings = std::map<std::uint64_t, Mapping>;

  Status check_shape(std::string_view action, const SimRange& range) const;
  Result<Address> note_reserved(std::optional<std::uint64_t> start, Bytes bytes);
  // Checks that whole mappings cover the range without a gap; returns the first of them.
  Result<Mappings::iterator> covering(std::string_view action, const SimRange& range);
  // Whether the device may get access to the frame: host memory, or memory of a device that it has a link to.
  Status check_reach(DeviceId device, const SimFrames::Frame& frame) const;
  Mappings::const_iterator holding(std::uint64_t address) const;
  // REQUIRES: nothing is mapped from there to `next`.
  void add(std::uint64_t start, const Mapping& mapping, Mappings::iterator next);
  // Returns the mapping after it.
  Mappings::iterator remove(Mappings::iterator mapping);

  const SimOptions options_;
  SimFrames frames_;
  const std::unique_ptr<SimAddresses> addresses_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // start → bytes
  Mappings mappings_;                              // by start
  std::vector<Mappings::node_type> spare_;         // of removed mappings, reused for new ones
};

}  // namespace tessera
