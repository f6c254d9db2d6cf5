// The speed of the disk: plain O_DIRECT requests over io_uring and nothing else, as a reference.
//
// Thread safety: none; one thread measures.
#pragma once

#include <string>

#include <liburing.h>

#include "base/units.hpp"
#include "tier/spill_file.hpp"

namespace tessera::bench {

class RawFile {
 public:
  // A file of `size` bytes like the spill file. `depth` requests of `block` bytes are in flight.
  RawFile(SpillFile file, Bytes block, unsigned depth);
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  // Moves `bytes`, a multiple of the block, between the file's start and `host`. REQUIRES: host is aligned to 4096.
  // Returns false if any request failed or was cut short.
  bool write(const void* host, Bytes bytes) { return move(true, const_cast<void*>(host), bytes); }
  bool read(void* host, Bytes bytes) { return move(false, host, bytes); }

 private:
  bool move(bool writing, void* host, Bytes bytes);

  const SpillFile file_;
  const Bytes block_;
  const unsigned depth_;
  io_uring ring_ = {};
};

}  // namespace tessera::bench
