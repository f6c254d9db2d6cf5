// What the program does with its streams and devices: it ends them, and waits for them.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "api/device_heaps.hpp"

namespace tessera {

class ProgramStreams {
 public:
  // REQUIRES: both outlive it.
  ProgramStreams(Driver& driver, DeviceHeaps& heaps) : driver_(driver), heaps_(heaps) {}

  // The stream ends: no call names it any more. Errors: the driver's.
  Status retire(StreamId stream);
  // Waits for all work on the device.
  Status synchronize(DeviceId device) { return driver_.synchronize(device); }
  // Around a wait of the program for its own work on the device (Residency::before_wait, note_over).
  std::uint64_t before_wait(DeviceId device) const;
  void note_waited(DeviceId device, std::optional<StreamId> stream, std::uint64_t before);

 private:
  Driver& driver_;
  DeviceHeaps& heaps_;
};

}  // namespace tessera
