// The blocks that a program allocated from memory pools (cuMemAllocAsync, cuMemAllocFromPoolAsync), each with its pool.
//
// Why: Tessera serves them like all others, but CUDA's queries return different attributes for them: a pool, and no
// context. Libraries that pass memory on recognise them by that (query_hooks.cpp). A pool also reports how much of it
// is in use (pool_meter.hpp).
//
// Thread safety: any thread; the common case is one atomic exchange, without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "cuda_api.hpp"

namespace tessera::preload {

// What is known of a block from a pool.
struct PoolBlock {
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 47;

  std::uint32_t pool = 0;   // number of the pool (program_pools.hpp), at most 0xffff
  std::uint64_t bytes = 0;  // as requested, at most kMost

  bool operator==(const PoolBlock&) const = default;
};

class PoolBlocks {
 public:
  // The block at `address` is from a pool. REQUIRES: it is live.
  void add(CUdeviceptr address, PoolBlock block);
  // Before it is freed. Nothing if it is not from a pool.
  std::optional<PoolBlock> remove(CUdeviceptr address);
  std::optional<PoolBlock> find(CUdeviceptr address);
  void clear();

 private:
  // A block in one word: its bytes, and in the lowest 16 bits its pool.
  static std::uint64_t packed(PoolBlock block) { return block.bytes << 16 | block.pool; }
  static PoolBlock unpacked(std::uint64_t word) { return {static_cast<std::uint32_t>(word & 0xffff), word >> 16}; }

  // Blocks begin at multiples of 512. Each hashes to one slot by its address; on a collision it is in `others_`.
  struct Place {
    std::atomic<CUdeviceptr> address{0};
    std::atomic<std::uint64_t> block{0};
  };
  static constexpr std::size_t kPlaces = 1 << 14;
  Place& place_of(CUdeviceptr address) {
    return places_[static_cast<std::size_t>((address >> 9) * 0x9e3779b97f4a7c15ull >> 50)];
  }

  std::array<Place, kPlaces> places_{};
  std::atomic<std::size_t> other_count_{0};
  std::mutex lock_;
  std::unordered_map<CUdeviceptr, std::uint64_t> others_;
};

// The instance of this process.
PoolBlocks& pool_blocks();

}  // namespace tessera::preload
