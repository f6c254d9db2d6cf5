// A whole machine in virtual time and without contents, running the real allocator.
//
// Thread safety: one thread.
#pragma once

#include <memory>

#include "api/allocator.hpp"
#include "lab/replay/host_waits.hpp"
#include "lab/replay/link_bytes.hpp"
#include "lab/replay/link_slices.hpp"
#include "lab/replay/replay_options.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {

class VirtualMachine {
 public:
  // REQUIRES: options.device_memory is not zero. Errors: the allocator's.
  static Result<std::unique_ptr<VirtualMachine>> create(const ReplayOptions& options, std::uint32_t devices);

  VirtualClock& clock() { return clock_; }
  SimDriver& driver() { return *driver_; }
  Allocator& allocator() { return *allocator_; }
  HostWaits& waits() { return waits_; }
  // Recorded for replays with a timeline.
  const LinkSlices& links() const { return links_; }
  // What each link and the disk have carried so far.
  struct Carried {
    LinkBytes::Sums links;
    Bytes file_read, file_written;
  };
  Carried carried() const { return {link_bytes_.sums(), disk_->bytes_read(), disk_->bytes_written()}; }
  // Does the work of the pump's thread; call it whenever time may have passed.
  void look();
  // Advances to the next event. False when nothing is in flight.
  bool step();
  // The program computes for this long, while the device and the pump go on.
  void pass(Nanoseconds time);

 private:
  VirtualMachine() = default;

  VirtualClock clock_;
  HostWaits waits_{clock_};
  LinkSlices links_;
  LinkBytes link_bytes_;
  NoHostPages pages_;
  SimDriver* driver_ = nullptr;  // owned by the allocator, like the disk
  VirtualFileIo* disk_ = nullptr;
  std::unique_ptr<Allocator> allocator_;
  SimPump pump_;
};

}  // namespace tessera
