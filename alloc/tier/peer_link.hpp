// Whether copies of one device can access the memory of another.
//
// Determined by trying, like host frames: no attribute is reliable, and behind some IOMMUs access is granted and copies
// succeed without having written anything.
//
// Thread safety: stateless.
#pragma once

#include "driver/driver.hpp"

namespace tessera {

// Maps a frame of the lender with access for both, and copies bytes of the borrower there and back. Releases everything
// before it returns. Errors: the driver's; kOutOfMemory where one of them has no frame for the test; kNotSupported
// where different bytes came back.
Status try_peer_link(Driver& driver, DeviceId borrower, DeviceId lender);

}  // namespace tessera
