// Which blocks a program took from the default pool of their device, by cuMemAllocAsync.
//
// Why: they are asked for like all others, but CUDA answers otherwise about them: they have a pool and no context, by
// which libraries that pass memory on know them (query_hooks.cpp).
//
// Thread safety: any thread; in the common case an exchange of one word, and no lock.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_set>

#include "cuda_api.hpp"

namespace tessera::preload {

class PoolBlocks {
 public:
  // The block at `address` is one. REQUIRES: it is live.
  void add(CUdeviceptr address);
  // Before it is freed; nothing if it is none.
  void remove(CUdeviceptr address);
  bool holds(CUdeviceptr address);
  void clear();

 private:
  // Blocks begin at multiples of 512. Each has one place, by its address; one whose place another has taken is in
  // `others_`.
  static constexpr std::size_t kPlaces = 1 << 14;
  static std::size_t place_of(CUdeviceptr address) {
    return static_cast<std::size_t>((address >> 9) * 0x9e3779b97f4a7c15ull >> 50);
  }

  std::array<std::atomic<CUdeviceptr>, kPlaces> places_{};
  std::atomic<std::size_t> other_count_{0};
  std::mutex lock_;
  std::unordered_set<CUdeviceptr> others_;
};

// Of the process.
PoolBlocks& pool_blocks();

}  // namespace tessera::preload
