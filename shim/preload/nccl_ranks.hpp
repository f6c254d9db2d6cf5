// Whether NCCL has ranks on several devices of this process.
//
// Why it matters: between such ranks NCCL may let a kernel reach into a buffer of another device, and
// blocks are mapped for their own device alone.
//
// Thread safety: any thread.
#pragma once

namespace tessera::preload {

// From before NCCL asks for peers.
bool ranks_share_process();

}  // namespace tessera::preload
