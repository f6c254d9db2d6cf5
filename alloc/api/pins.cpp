#include "api/pins.hpp"

namespace tessera {

Status Pins::pin(Address address) { return pin(address, nullptr); }

Status Pins::pin(Address address, const char* exposed_by) {
  return heaps_.with_run_until_held(address, [exposed_by](Residency& residency, Run* run, const Held& held) {
    return residency.pins().pin(&run->whole(), exposed_by, held);
  });
}

Status Pins::unpin(Address address) {
  return heaps_.with_run(address,
                         [](DeviceHeap& heap, Run* run) { return heap.residency().pins().unpin(&run->whole()); });
}

Status Pins::expose(Address address, const char* reason) {
  TESSERA_TRY(pin(address, reason));
  exposures_.note(reason);
  return {};
}

Status Pins::keep(Address address, const char* reason) {
  TESSERA_TRY(heaps_.with_run_until_held(address, [reason](Residency& residency, Run* run, const Held& held) {
    return residency.pins().keep(&run->whole(), reason, held);
  }));
  exposures_.note(reason);
  return {};
}

Status Pins::unkeep(Address address) {
  return heaps_.with_run(address,
                         [](DeviceHeap& heap, Run* run) { return heap.residency().pins().unkeep(&run->whole()); });
}

}  // namespace tessera
