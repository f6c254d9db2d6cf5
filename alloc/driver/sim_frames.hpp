// The simulated machine's physical memory: frames of each device and of the host, by the byte.
//
// One pool per device and one for the host (sim_pool.hpp); where they hold bytes, a new frame reads
// as zero.
//
// Thread safety: none; SimDriver locks.
//
// Invariants (validate()): the bytes in use of a place are the sum of its frames, and not more than
// its capacity; every frame here has an owner or a mapping.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "base/units.hpp"
#include "driver/driver.hpp"
#include "driver/sim_options.hpp"

namespace tessera {

class SimPool;

class SimFrames {
 public:
  struct Frame {
    FrameId id;
    DeviceId device;
    FrameLocation location = FrameLocation::kDevice;
    Bytes bytes;
    Bytes offset;                // in its store
    std::uint64_t owners = 1;    // destroy_frame calls still to come
    std::uint64_t mappings = 0;  // places where it is mapped
    int file = -1;               // of another process, in which it lies; -1: of a store here
    bool shareable = false;
  };

  explicit SimFrames(const SimOptions& options);
  ~SimFrames();

  // Errors: kOutOfMemory when the capacity of the place is reached.
  Result<FrameId> create(DeviceId device, FrameLocation location, Bytes bytes);
  // Nothing for a frame that is not there. It stays where it is as long as it is mapped.
  const Frame* find(FrameId frame) const;
  Frame* find(FrameId frame);
  // One owner less; the memory goes back with the last owner and the last mapping.
  // Errors: native 400 for a frame that has no owner.
  Status destroy(FrameId frame);
  // Errors: native 400 for a frame that is not there.
  Status retain(FrameId frame);
  // Whoever makes a frame says whether it will be shared.
  // Errors: native 400 for a frame that is not there.
  Status make_shareable(FrameId frame);
  // A file by which another process can adopt the frame; the caller closes it. What it is of is told by the
  // file's position, so that nothing but the file has to be sent.
  // Errors: native 400 for a frame that is not there, 1 for one that is not shareable, 801 for one without
  // bytes or of another process.
  Result<int> share(FrameId frame) const;
  // A frame of another process, which counts there. `file` stays the caller's.
  // Errors: native 400 for a file that share() never gave.
  Result<FrameId> adopt(int file);
  static void add_mapping(Frame& frame) { ++frame.mappings; }
  // REQUIRES: it has one. The frame may be gone then.
  void remove_mapping(Frame& frame);

  // Shows the frame at an address, or ends that; see SimPool.
  bool show(const Frame& frame, void* at) const;
  bool hide(const Frame& frame, void* at) const;
  MemoryInfo info(DeviceId device) const;

  std::vector<std::string> leaks() const;
  Status validate() const;

 private:
  SimPool& store(DeviceId device, FrameLocation location) const;
  void free_if_unused(const Frame& frame);

  std::uint64_t next_frame_ = 16;
  std::unordered_map<FrameId, Frame> frames_;
  std::vector<std::unique_ptr<SimPool>> devices_;
  std::unique_ptr<SimPool> host_;
};

}  // namespace tessera
