// The simulated machine's physical memory: frames of each device and of the host.
//
// One pool per device and one for the host (sim_pool.hpp); in pools with contents, a new frame reads as zero.
//
// Thread safety: none; SimDriver locks.
//
// Invariants (validate()): the bytes in use of a pool are the sum of its frames, and at most its capacity; every frame
// here has an owner or a mapping.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "base/units.hpp"
#include "driver/driver.hpp"
#include "sim/sim_options.hpp"

namespace tessera {

class SimCommonMemory;
class SimPool;

// Where a frame lies in the file of all frames of its kind.
struct SimPlace {
  DeviceId device;
  FrameLocation location = FrameLocation::kDevice;
  Bytes offset;
  Bytes bytes;
};

class SimFrames {
 public:
  struct Frame {
    FrameId id;
    DeviceId device;
    FrameLocation location = FrameLocation::kDevice;
    Bytes bytes;
    Bytes offset;                // in its store
    std::uint64_t owners = 1;    // destroy_frame calls still to come
    std::uint64_t mappings = 0;  // number of its mappings
    int file = -1;               // the file of another process that contains it; -1: in a store here
    bool shareable = false;
  };

  explicit SimFrames(const SimOptions& options);
  ~SimFrames();

  // Errors: kOutOfMemory when the capacity of the pool is reached.
  Result<FrameId> create(DeviceId device, FrameLocation location, Bytes bytes);
  // Nothing for a frame that does not exist. The pointer is valid as long as the frame is mapped.
  const Frame* find(FrameId frame) const;
  Frame* find(FrameId frame);
  // Removes one owner; the memory is freed with the last owner and the last mapping. Errors: native 400 for a frame
  // without an owner.
  Status destroy(FrameId frame);
  // Errors: native 400 for a frame that does not exist.
  Status retain(FrameId frame);
  // The creator of a frame decides whether it will be shared. Errors: native 400 for a frame that does not exist.
  Status make_shareable(FrameId frame);
  // A file by which another process can adopt the frame; the caller closes it. The file's position encodes the frame,
  // so that nothing but the file has to be sent. Errors: native 400 for a frame that does not exist, 1 for one that is
  // not shareable, 801 for one without contents or of another process.
  Result<int> share(FrameId frame) const;
  // A file of all frames there, including future ones; the caller closes it. Its position is 0, which names no frame.
  // Errors: native 801 for frames without contents.
  Result<int> share_all(DeviceId device, FrameLocation location) const;
  // Adopts a frame of another process, where its bytes are counted. `file` remains the caller's.
  // Errors: native 400 for a file that share() did not return.
  Result<FrameId> adopt(int file);
  // The same from a file of all frames. Errors: native 400 for a place that is not in such a file.
  Result<FrameId> adopt(int file, const SimPlace& place);
  static void add_mapping(Frame& frame) { ++frame.mappings; }
  // REQUIRES: it has one. The frame may be destroyed by this.
  void remove_mapping(Frame& frame);

  // Makes the frame visible at an address, or ends that; see SimPool.
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
  SimCommonMemory* const common_;  // may be null
};

}  // namespace tessera
