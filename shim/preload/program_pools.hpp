// The device pools whose blocks Tessera serves: the default pools, and those that the program creates.
//
// Every pool here also exists in the driver, which gave its handle and answers for its properties, its settings and its
// place as a device's current pool. Blocks come from the heap as long as the pool is ours. It becomes the driver's for
// good when the program needs what a block cannot do: it exports the pool to other processes, or gives other devices
// access to it. Blocks that it has by then stay ours until they are freed.
//
// Blocks of a program's pool carry a tag of that pool, "pool 1" for the first: statistics, sleep and wake tell pools
// apart. The number of a destroyed pool serves another one once its blocks are freed. Pools beyond kNamed share one
// tag; pools beyond kMost are the driver's.
//
// Thread safety: any thread; looking up a pool takes no lock. A program that destroys a pool while another thread uses
// its handle may get either's answer, as from the driver.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "cuda_api.hpp"
#include "pool_blocks.hpp"
#include "pool_meter.hpp"

namespace tessera::preload {

struct ProgramPool {
  static constexpr std::uint32_t kNoTag = ~std::uint32_t{0};

  std::atomic<CUmemoryPool> handle{nullptr};  // kept after the pool was destroyed, for its blocks
  std::uint32_t number = 0;                   // for PoolBlock
  CUdevice device = -1;
  std::uint64_t limit = 0;  // bytes; 0: none
  bool is_default = false;
  bool exportable = false;
  std::atomic<bool> ours{false};           // new blocks are from the heap
  std::atomic<bool> exists{false};         // not destroyed by the program
  std::atomic<std::uint32_t> tag{kNoTag};  // in the allocator, once it is known there
  PoolMeter meter;

  // The tag of its blocks; "" for a default pool.
  std::string tag_name() const;
};

class ProgramPools {
 public:
  static constexpr std::uint32_t kMost = 1024;
  static constexpr std::uint32_t kNamed = 60;
  static constexpr std::uint32_t kDevices = 64;

  ProgramPools() = default;
  ~ProgramPools();
  ProgramPools(const ProgramPools&) = delete;
  ProgramPools& operator=(const ProgramPools&) = delete;

  // The driver made `handle` with these properties. Does nothing if that is no pool for us, or there are kMost.
  void add(CUmemoryPool handle, const CUmemPoolProps& properties);
  // `handle` is the default pool of the device. Null for the kDevices-th device, and those behind it.
  ProgramPool* add_default(CUmemoryPool handle, CUdevice device);
  // Null for a pool that is not known.
  ProgramPool* find(CUmemoryPool handle);
  // REQUIRES: a block has this number.
  ProgramPool* by_number(std::uint32_t number) { return numbered_[number].load(std::memory_order_acquire); }
  // The program has destroyed the pool.
  void remove(ProgramPool& pool);
  // The heap has ended: no pool has blocks in it, and none has a tag in the next one yet.
  void forget_blocks();

  // Takes the block out of the amounts of its pool, before it is freed. Returns what was known of it.
  std::optional<PoolBlock> forget_block(CUdeviceptr address);
  // Undoes forget_block().
  void put_back(CUdeviceptr address, PoolBlock block);

 private:
  // A handle is in one of this many places from the one that its value gives.
  static constexpr std::size_t kReach = 16;
  static constexpr std::size_t kPlaces = std::size_t{1} << 12;
  std::atomic<ProgramPool*>& place(CUmemoryPool handle, std::size_t step) {
    const std::size_t first = reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15ull >> 52;
    return places_[(first + step) % kPlaces];
  }
  ProgramPool* record(std::uint32_t number);
  ProgramPool* free_record();
  bool publish(ProgramPool& pool);
  void hide(ProgramPool& pool);

  std::array<std::atomic<ProgramPool*>, kPlaces> places_{};
  // A record stays once it is made. 0 is no pool; the last kDevices are the default pools.
  std::array<std::atomic<ProgramPool*>, kMost> numbered_{};
  std::mutex lock_;  // for changes
};

// The instance of this process.
ProgramPools& program_pools();

}  // namespace tessera::preload
