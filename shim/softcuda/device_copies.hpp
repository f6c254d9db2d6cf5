// Copies between two devices, with CUDA's ordering.
//
// A copy in the legacy stream between the memory of two devices begins when all work queued earlier on either device is
// done, and later work on either device begins when the copy is done. Programs with several devices rely on this: they
// copy into memory that the other device has just used.
//
// Thread safety: as for the calls that use them.
#pragma once

#include "transfer.hpp"

namespace tessera::softcuda {

// copy_bytes() with this ordering. REQUIRES: `context` is current.
CUresult copy_in_order(Machine& machine, const Context& context, Place to, Place from, std::uint64_t bytes,
                       StreamId stream);

}  // namespace tessera::softcuda
