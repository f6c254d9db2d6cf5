// The blocks that a program allocated from the default pool of their device, by cuMemAllocAsync.
//
// Why: Tessera serves them like all others, but CUDA's queries return different attributes for them: a pool, and no
// context. Libraries that pass memory on recognise them by that (query_hooks.cpp).
//
// Thread safety: any thread; the common case is one atomic exchange, without a lock.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_set>

#include "cuda_api.hpp"

namespace tessera::preload {

class PoolBlocks {
 public:
  // The block at `address` is from a pool. REQUIRES: it is live.
  void add(CUdeviceptr address);
  // Before it is freed; does nothing if it is not from a pool.
  void remove(CUdeviceptr address);
  bool holds(CUdeviceptr address);
  void clear();

 private:
  // Blocks begin at multiples of 512. Each hashes to one slot by its address; on a collision it is in `others_`.
  static constexpr std::size_t kPlaces = 1 << 14;
  static std::size_t place_of(CUdeviceptr address) {
    return static_cast<std::size_t>((address >> 9) * 0x9e3779b97f4a7c15ull >> 50);
  }

  std::array<std::atomic<CUdeviceptr>, kPlaces> places_{};
  std::atomic<std::size_t> other_count_{0};
  std::mutex lock_;
  std::unordered_set<CUdeviceptr> others_;
};

// The instance of this process.
PoolBlocks& pool_blocks();

}  // namespace tessera::preload
