// Blocks that executable graphs hold: the program's free of one waits until the last of them lets go.
//
// Why: CUDA leaves undefined what a graph does to memory that was freed before its launch. Here the
// graph goes on using the block it was made with, so no other block's bytes are touched. A free during
// a capture waits too, for the capture's end: it would have to wait for the device, which a capture
// forbids.
//
// Thread safety: any thread. A free costs two loads as long as there are no graphs.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "cuda_api.hpp"

namespace tessera::preload {

// What tessera_query() says of the blocks that hold these words: their first bytes, each once.
std::vector<CUdeviceptr> blocks_of(std::span<const std::uint64_t> words);

class HeldBlocks {
 public:
  void hold(std::span<const CUdeviceptr> blocks);
  void let_go(std::span<const CUdeviceptr> blocks);

  // True when the free of `address` has to wait; `result` is what the program is told.
  bool put_off_free(CUdeviceptr address, CUresult& result);
  // Carries out the frees that need not wait any longer; first waits for the device if there are any.
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

// The process's one.
HeldBlocks& held_blocks();

}  // namespace tessera::preload
