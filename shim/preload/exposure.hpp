// Exposed addresses: their uses can no longer be seen, so their blocks stay in device memory until they are freed.
//
// Thread safety: any thread; a KeptBlocks object belongs to the thread that made it.
#pragma once

#include <vector>

#include "cuda_api.hpp"
#include "found_words.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

// True for an address managed by a running Tessera; all others are left to the driver.
bool served(CUdeviceptr address);

// `reason` is a string literal that the statistics show. Returns success for an address that is not served.
CUresult expose(CUdeviceptr address, const char* reason);

// The addresses that a call retains. Their blocks are in device memory during the call, and are exposed if it succeeds.
// A call that the driver refuses retains nothing.
class KeptBlocks {
 public:
  explicit KeptBlocks(const char* reason) : reason_(reason) {}
  ~KeptBlocks();
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;

  // Returns success for an address that is not served.
  CUresult add(CUdeviceptr address);
  // Adds all blocks that the words point into; blocks of uncertain words only as far as they fit.
  CUresult add(const WordSpans& words);
  // For an operation queued on `stream`. On a capturing stream the operation becomes a graph node, which uses the block
  // whenever it runs.
  CUresult add_on(CUstream stream, CUdeviceptr address);
  // Returns `result`, the driver's result.
  CUresult after(CUresult result);

 private:
  const char* const reason_;
  std::vector<tessera_address> pinned_;
};

}  // namespace tessera::preload
