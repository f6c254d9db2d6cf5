// Blocks that stay in device memory: pinned by the program, or because their addresses are known to others.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <string>
#include <string_view>

#include "api/device_heaps.hpp"
#include "api/exposure_log.hpp"

namespace tessera {

class Pins {
 public:
  // `explain`: whether the first call with each reason is remembered. REQUIRES: the heaps outlive it.
  Pins(DeviceHeaps& heaps, bool explain) : heaps_(heaps), exposures_(explain) {}

  // Errors of all: kNotFound; those of Residency's functions of the same names.
  Status pin(Address address);
  Status unpin(Address address);
  // Pins it for good. `reason` must live for ever.
  Status expose(Address address, const char* reason);
  // Until the matching unkeep(). `reason` must live for ever.
  Status keep(Address address, const char* reason);
  Status unkeep(Address address);
  // The stack of the first call with this reason, or "".
  std::string first_call(std::string_view reason) const { return exposures_.first_call(reason); }

 private:
  Status pin(Address address, const char* exposed_by);

  DeviceHeaps& heaps_;
  ExposureLog exposures_;
};

}  // namespace tessera
