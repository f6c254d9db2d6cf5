// Addresses that leave our sight: their blocks stay in device memory until they are freed.
//
// Thread safety: any thread; a KeptBlocks belongs to the thread that made it.
#pragma once

#include <vector>

#include "cuda_api.hpp"
#include "found_words.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

// True for an address of a running Tessera: all others are the driver's own business.
bool served(CUdeviceptr address);

// `reason` is a literal that the statistics show. Success for an address that is not served.
CUresult expose(CUdeviceptr address, const char* reason);

// What a call is given to keep: in device memory while the call is made, and exposed if it succeeds. A call
// that the driver refuses has kept nothing.
class KeptBlocks {
 public:
  explicit KeptBlocks(const char* reason) : reason_(reason) {}
  ~KeptBlocks();
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;

  // Success for an address that is not served.
  CUresult add(CUdeviceptr address);
  // What these words name; those that are not certain only as far as they fit.
  CUresult add(const WordSpans& words);
  // For an operation queued on `stream`. On one that is being captured it makes a node of a graph, which
  // holds the block whenever it runs.
  CUresult add_on(CUstream stream, CUdeviceptr address);
  // Says what the driver has said, `result`.
  CUresult after(CUresult result);

 private:
  const char* const reason_;
  std::vector<tessera_address> pinned_;
};

}  // namespace tessera::preload
