#include "api/unnamed_uses.hpp"

#include <bit>

namespace tessera {

// Host-backed pages of every device are guarded: work of one device can access those of another, and each swap waits
// for all work. Otherwise a block waits only for work on its own device.
void UnnamedUses::begin(std::optional<DeviceId> device, StreamId stream, const char* name, AnnouncedUse& use) {
  use.stream = stream;
  if (guards_all_work()) {
    enter_gates(use);
    return;
  }
  for (DeviceHeap* const heap : heaps_.all()) {
    if (device && *device != heap->device()) continue;
    const bool is_alone = device.has_value() || heaps_.only() == heap;
    use.use.gate_slot = heap->residency().begin_unnamed(stream, name, is_alone ? &use.use.watch : nullptr);
    use.gates |= std::uint64_t{1} << heap->device().value();
  }
}

// A thread has the same slot at every gate. With several devices the owner of the stream is unknown.
void UnnamedUses::enter_gates(AnnouncedUse& use) {
  const std::uint64_t backed = lower_.backed_devices();
  if (!std::has_single_bit(backed)) use.stream = kNoStream;
  for (std::uint64_t device = 0; device < DeviceHeaps::kMaxDevices; ++device) {
    if ((backed >> device & 1) == 0) continue;
    use.use.gate_slot = heaps_.made(DeviceId(device))->residency().begin_unnamed(use.stream);
  }
  use.gates = backed;
}

void UnnamedUses::leave_gates(AnnouncedUse& use) {
  for (std::uint64_t device = 0; device < DeviceHeaps::kMaxDevices; ++device) {
    if ((use.gates >> device & 1) == 0) continue;
    heaps_.made(DeviceId(device))->residency().end_unnamed(use.stream, use.use.gate_slot, use.use.watch);
  }
  use.gates = 0;
}

}  // namespace tessera
