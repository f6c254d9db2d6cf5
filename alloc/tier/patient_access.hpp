// Sets the access of a mapped range, with retries while the driver is not ready.
//
// Thread safety: stateless.
#pragma once

#include "base/backoff.hpp"
#include "driver/driver.hpp"

namespace tessera {

// As Driver::set_access; kNotReady (CUDA 600) is retried for some twenty milliseconds.
inline Status set_access_patiently(Driver& driver, Address address, Bytes bytes, DeviceId device) {
  constexpr int kTries = 1000;
  Status status = driver.set_access(address, bytes, device);
  Backoff backoff;
  for (int again = 1; again < kTries && status.code() == Code::kNotReady; ++again) {
    backoff.pause();
    status = driver.set_access(address, bytes, device);
  }
  return status;
}

}  // namespace tessera
