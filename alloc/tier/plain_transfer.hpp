// Chunks carried out by pread and pwrite: the caller waits until they are done.
//
// Complements io_uring: a plain call still works where the ring lacks a worker, memory or permission.
//
// Thread safety: any thread; two chunks do not overlap.
#pragma once

#include <string>

#include "base/status.hpp"
#include "tier/transfer_queue.hpp"

namespace tessera {

// Carries out the rest of the chunk. Returns 0, an error number, or kFileEnds. An interrupted call is repeated, a
// hundred times at most.
int carry_out(int file, Chunk& chunk);

// FileIo's discard. `directory` is for the message. Errors: kNotSupported where the file system, or a filter, always
// refuses it; kIo.
Status punch_hole(int file, Bytes offset, Bytes bytes, const std::string& directory);

}  // namespace tessera
