// The streams, other than its own, that use a block, as given by record_stream.
//
// Most programs never record one, so a free checks a counter first and takes no lock.
//
// Thread safety: every call may be made from any thread. A free concurrent with a record of the same block is a bug in
// the caller; its only effect is that the recorded stream is lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tessera/tessera.h"

namespace tessera::torch {

class RecordedStreams {
 public:
  // A stream counts once per block.
  void add(tessera_address block, tessera_stream stream);
  // Returns and forgets the streams of a block that is about to be freed.
  std::vector<tessera_stream> take(tessera_address block);

 private:
  std::atomic<std::size_t> blocks_{0};
  std::mutex mutex_;
  std::unordered_map<tessera_address, std::vector<tessera_stream>> streams_;
};

}  // namespace tessera::torch
