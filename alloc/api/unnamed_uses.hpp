// Uses of queued work that names no block but may access any, since its address may come from memory or a global. No
// block is evicted while such work runs.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <optional>

#include "api/announced_use.hpp"
#include "api/device_heaps.hpp"

namespace tessera {

class UnnamedUses {
 public:
  // REQUIRES: both outlive it.
  UnnamedUses(DeviceHeaps& heaps, const LowerTiers& lower) : heaps_(heaps), lower_(lower) {}

  // `device`: that of the stream; without one the work counts on every device in use. `name`: as for Uses::begin.
  // Uses::end ends it.
  void begin(std::optional<DeviceId> device, StreamId stream, const char* name, AnnouncedUse& use);
  // The gates of the devices with host-backed pages, where every work has to pass them.
  void enter_gates(AnnouncedUse& use);
  void leave_gates(AnnouncedUse& use);
  bool guards_all_work() const { return lower_.guards_all_work(); }

 private:
  DeviceHeaps& heaps_;
  const LowerTiers& lower_;
};

}  // namespace tessera
