// Which streams besides its own use a block, as record_stream told.
//
// Most programs never record one, so a free asks a counter first and takes no lock.
//
// Thread safety: every call may be made from any thread. A free that runs beside a record of the
// same block is a defect of the caller; it costs the recorded stream, nothing else.
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
  // A stream counts once for each block.
  void add(tessera_address block, tessera_stream stream);
  // Those of a block that is about to be freed; they are forgotten.
  std::vector<tessera_stream> take(tessera_address block);

 private:
  std::atomic<std::size_t> blocks_{0};
  std::mutex mutex_;
  std::unordered_map<tessera_address, std::vector<tessera_stream>> streams_;
};

}  // namespace tessera::torch
