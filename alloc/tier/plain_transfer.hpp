// Chunks carried out by pread and pwrite: the caller waits until it is over.
//
// Why beside io_uring: what the ring cannot do for want of a worker, memory or permission, a plain call can.
//
// Thread safety: any thread; two chunks do not overlap.
#pragma once

#include <string>

#include "base/status.hpp"
#include "tier/transfer_queue.hpp"

namespace tessera {

// Carries out what is left of the chunk. 0, an error number, or kFileEnds. A call that was interrupted is made
// again, a hundred times at most.
int carry_out(int file, Chunk& chunk);

// FileIo's discard. `directory` is for the message. Errors: kNotSupported where the file system, or a filter, refuses
// it in any case; kIo.
Status punch_hole(int file, Bytes offset, Bytes bytes, const std::string& directory);

}  // namespace tessera
