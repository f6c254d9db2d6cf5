// A whole machine in virtual time and without contents, running the real allocator: one program's own, or its part of
// one that it shares with others.
//
// Thread safety: one thread.
#pragma once

#include <memory>

#include "api/allocator.hpp"
#include "lab/replay/host_waits.hpp"
#include "lab/replay/link_bytes.hpp"
#include "lab/replay/link_slices.hpp"
#include "lab/replay/replay_options.hpp"
#include "lab/replay/shared_machine.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {

class VirtualMachine final : private LedgerAccess {
 public:
  // `place` is null for a machine of its own. REQUIRES: options.device_memory is not zero; where the machine is shared
  // it outlives this, there is one device, and no peer. Errors: the allocator's.
  static Result<std::unique_ptr<VirtualMachine>> create(const ReplayOptions& options, std::uint32_t devices,
                                                        const SharedPlace* place = nullptr);

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
  // Null where the device is not shared, and before the program uses it.
  const DeviceShare* share() const;
  // Does the work of the pump's thread; call it whenever time may have passed.
  void look();
  // Advances to the next event. False when nothing is in flight.
  bool step();
  // The program of a shared machine ends without cleaning up, as if it were killed: its row stays in the ledger as it
  // is. What it holds of the device is free once this is destroyed.
  void die() { dead_ = true; }
  // The program computes for this long, while the device and the pump go on.
  void pass(Nanoseconds time);

 private:
  explicit VirtualMachine(SharedMachine* shared);

  // LedgerAccess: the ledger of the shared machine.
  Result<std::unique_ptr<LedgerFile>> open(const Options& options, const std::string& device) override;
  ProcessId process() const override { return process_; }
  const Clock& clock() const override { return clock_; }
  void pause(Nanoseconds time) override { pass(time); }

  SharedMachine* const shared_;  // may be null
  VirtualClock own_clock_;
  VirtualClock& clock_;
  const ProcessId process_;
  bool dead_ = false;
  HostWaits waits_{clock_};
  LinkSlices links_;
  LinkBytes link_bytes_;
  NoHostPages pages_;
  SimDriver* driver_ = nullptr;  // owned by the allocator, like the disk
  VirtualFileIo* disk_ = nullptr;
  std::unique_ptr<Allocator> allocator_;
  SimPump pump_;
  bool looks_ = false;     // the pump is at work
  Nanoseconds next_look_;  // at the shares of the device
};

}  // namespace tessera
