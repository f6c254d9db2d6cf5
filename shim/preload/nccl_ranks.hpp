// Whether NCCL has ranks on several devices in this process.
//
// Why it matters: between such ranks an NCCL kernel may access a buffer of another device directly, and blocks are
// mapped only for their own device.
//
// Thread safety: any thread.
#pragma once

namespace tessera::preload {

// True before NCCL queries peer access.
bool ranks_share_process();

}  // namespace tessera::preload
