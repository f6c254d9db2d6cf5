// Whether copies of one device reach the memory of another.
//
// Found out by doing it, as that of host frames is: no attribute can be trusted, and behind some IOMMUs access is
// given and copies end well that have written nothing.
//
// Thread safety: stateless.
#pragma once

#include "driver/driver.hpp"

namespace tessera {

// A frame of the lender is mapped with access for both, and bytes of the borrower go there and back. All of it is gone
// when this returns. Errors: the driver's; kOutOfMemory where one of them has no frame to try with; kNotSupported
// where other bytes came back.
Status try_peer_link(Driver& driver, DeviceId borrower, DeviceId lender);

}  // namespace tessera
