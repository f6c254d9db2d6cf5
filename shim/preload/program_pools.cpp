#include "program_pools.hpp"

#include <algorithm>
#include <cstddef>

namespace tessera::preload {
namespace {

// The driver rounds the limit of a pool up to what it maps.
std::uint64_t rounded_limit(std::uint64_t bytes) {
  if (bytes > ~std::uint64_t{0} - PoolMeter::kPage) return 0;
  return (bytes + PoolMeter::kPage - 1) / PoolMeter::kPage * PoolMeter::kPage;
}

// A pool on a device, without properties that no block of the heap has: one for network cards (the byte behind `usage`
// in newer versions of cuda.h), and whatever a later version says in the bytes that have to be zero.
bool suits_blocks(const CUmemPoolProps& properties) {
  const unsigned char* const rest =
      reinterpret_cast<const unsigned char*>(&properties) + offsetof(CUmemPoolProps, usage) + sizeof(properties.usage);
  const unsigned char* const end = reinterpret_cast<const unsigned char*>(&properties + 1);
  return properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
         properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         std::all_of(rest, end, [](unsigned char byte) { return byte == 0; });
}

}  // namespace

std::string ProgramPool::tag_name() const {
  if (is_default) return "";
  return number <= ProgramPools::kNamed ? "pool " + std::to_string(number) : "other pools";
}

ProgramPools::~ProgramPools() {
  for (std::atomic<ProgramPool*>& entry : numbered_) delete entry.load();
}

// REQUIRES: the lock is held.
ProgramPool* ProgramPools::record(std::uint32_t number) {
  std::atomic<ProgramPool*>& entry = numbered_[number];
  if (entry.load(std::memory_order_relaxed) == nullptr) {
    auto* const made = new ProgramPool;
    made->number = number;
    entry.store(made, std::memory_order_release);
  }
  return entry.load(std::memory_order_relaxed);
}

// The first one without a pool and without blocks; null if there is none. REQUIRES: the lock is held.
ProgramPool* ProgramPools::free_record() {
  for (std::uint32_t number = 1; number < kMost - kDevices; ++number) {
    ProgramPool* const each = record(number);
    if (!each->exists.load() && each->meter.used() == 0) return each;
  }
  return nullptr;
}

// REQUIRES: the lock is held.
bool ProgramPools::publish(ProgramPool& pool) {
  for (std::size_t step = 0; step < kReach; ++step) {
    std::atomic<ProgramPool*>& at = place(pool.handle.load(), step);
    if (at.load() != nullptr) continue;
    pool.exists.store(true);
    at.store(&pool, std::memory_order_release);
    return true;
  }
  return false;
}

// REQUIRES: the lock is held.
void ProgramPools::hide(ProgramPool& pool) {
  for (std::size_t step = 0; step < kReach; ++step) {
    ProgramPool* its = &pool;
    if (place(pool.handle.load(), step).compare_exchange_strong(its, nullptr)) break;
  }
  pool.ours.store(false);
  pool.exists.store(false);
}

void ProgramPools::add(CUmemoryPool handle, const CUmemPoolProps& properties) {
  if (!suits_blocks(properties)) return;
  if (ProgramPool* const stale = find(handle)) remove(*stale);  // destroyed in a way that no call showed
  const std::lock_guard<std::mutex> guard(lock_);
  ProgramPool* const pool = free_record();
  if (pool == nullptr) return;
  pool->meter.clear();
  pool->handle.store(handle);
  pool->device = properties.location.id;
  pool->limit = rounded_limit(properties.maxSize);
  pool->exportable = properties.handleTypes != CU_MEM_HANDLE_TYPE_NONE;
  pool->ours.store(true);
  (void)publish(*pool);
}

ProgramPool* ProgramPools::add_default(CUmemoryPool handle, CUdevice device) {
  if (device < 0 || static_cast<std::uint32_t>(device) >= kDevices) return nullptr;
  const std::lock_guard<std::mutex> guard(lock_);
  if (ProgramPool* const known = find(handle)) return known;
  ProgramPool* const pool = record(kMost - 1 - static_cast<std::uint32_t>(device));
  if (pool->exists.load()) hide(*pool);  // another handle: the device was reset
  pool->handle.store(handle);
  pool->device = device;
  pool->is_default = true;
  pool->tag.store(0);
  pool->ours.store(true);
  return publish(*pool) ? pool : nullptr;
}

ProgramPool* ProgramPools::find(CUmemoryPool handle) {
  for (std::size_t step = 0; step < kReach; ++step) {
    ProgramPool* const pool = place(handle, step).load(std::memory_order_acquire);
    if (pool != nullptr && pool->handle.load(std::memory_order_relaxed) == handle) return pool;
  }
  return nullptr;
}

void ProgramPools::remove(ProgramPool& pool) {
  const std::lock_guard<std::mutex> guard(lock_);
  hide(pool);
}

void ProgramPools::forget_blocks() {
  pool_blocks().clear();
  for (std::atomic<ProgramPool*>& entry : numbered_) {
    ProgramPool* const pool = entry.load();
    if (pool == nullptr) continue;
    pool->meter.clear();
    if (!pool->is_default) pool->tag.store(ProgramPool::kNoTag);
  }
}

std::optional<PoolBlock> ProgramPools::forget_block(CUdeviceptr address) {
  const std::optional<PoolBlock> block = pool_blocks().remove(address);
  ProgramPool* const pool = block ? by_number(block->pool) : nullptr;
  if (pool != nullptr) pool->meter.give(block->bytes, pool->limit);
  return block;
}

void ProgramPools::put_back(CUdeviceptr address, PoolBlock block) {
  ProgramPool* const pool = by_number(block.pool);
  if (pool != nullptr) pool->meter.count(block.bytes, 0);
  pool_blocks().add(address, block);
}

// Never destroyed: exit handlers may still free blocks.
ProgramPools& program_pools() {
  static auto& all = *new ProgramPools;
  return all;
}

}  // namespace tessera::preload
