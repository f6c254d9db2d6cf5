// Blocks that executable graphs hold: a free by the program is deferred until the last such graph lets go.
//
// Why: CUDA leaves undefined what a graph does with memory that was freed before its launch. Here the graph keeps using
// the block that it was made with, so no other block's bytes are touched. A free during a capture is deferred until the
// capture ends: it would have to wait for the device, which a capture forbids.
//
// Thread safety: any thread. A free costs two loads while there are no graphs.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "cuda_api.hpp"

namespace tessera::preload {

// The first bytes of the blocks that contain these words (by tessera_query()), each once.
std::vector<CUdeviceptr> blocks_of(std::span<const std::uint64_t> words);

class HeldBlocks {
 public:
  void hold(std::span<const CUdeviceptr> blocks);
  void let_go(std::span<const CUdeviceptr> blocks);

  // True if the free of `address` has to be deferred; `result` is then the program's result.
  bool put_off_free(CUdeviceptr address, CUresult& result);
  // Carries out the deferred frees that are due; waits for the device first if there are any.
  void free_due();
  // Tessera has ended: its blocks are gone.
  void forget_all();

 private:
  struct Held {
    std::size_t graphs = 0;
    bool freed = false;  // by the program
  };

  std::vector<CUdeviceptr> take_due();
  void put_back(std::span<const CUdeviceptr> due);

  std::atomic<std::size_t> count_{0};  // of blocks_
  std::mutex mutex_;
  std::map<CUdeviceptr, Held> blocks_;
};

// The instance of this process.
HeldBlocks& held_blocks();

}  // namespace tessera::preload
