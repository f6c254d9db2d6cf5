// Copies in the order that CUDA gives them between two devices.
//
// A copy in the legacy stream from the memory of one device to that of another begins when all that was queued on
// either device is done, and what is queued on either afterwards begins when it is done. Programs with several
// devices rely on it: they copy into memory that the other device has just used.
//
// Thread safety: as the calls that they are made in.
#pragma once

#include "transfer.hpp"

namespace tessera::softcuda {

// copy_bytes, in that order. REQUIRES: `context` is current.
CUresult copy_in_order(Machine& machine, const Context& context, Place to, Place from, std::uint64_t bytes,
                       StreamId stream);

}  // namespace tessera::softcuda
