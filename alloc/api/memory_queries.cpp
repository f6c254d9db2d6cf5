#include "api/memory_queries.hpp"

#include <algorithm>

#include "api/budgets.hpp"

namespace tessera {

Result<MemoryQueries::Where> MemoryQueries::where(Address address) const {
  DeviceHeap* heap = heaps_.of(address);
  if (heap == nullptr) return not_ours(address);
  const BlockCache::Lookup lookup(heap->blocks());
  const auto block = lookup.block_of(address);
  if (!block) return not_ours(address);
  return Where{heap->device(), *block, heap->residency().figures().whereabouts(*block->run),
               block->run->whole().pins.load()};
}

// Everything not taken by live runs is available without moving a page, because free and cached blocks are simply
// dropped. Memory that the driver has given to others is not. For a heap that does not exist yet, returns what it would
// get.
Result<MemoryInfo> MemoryQueries::info(DeviceId device) {
  if (options_.report_memory == "virtual") {
    TESSERA_TRY_ASSIGN(DeviceHeap* const heap, heaps_.heap(device));
    return enlarged(*heap);
  }
  DeviceHeap* const heap = heaps_.made(device);
  if (heap == nullptr) {
    TESSERA_TRY_ASSIGN(const MemoryInfo memory, driver_.memory_info(device));
    const Bytes lent = std::min(memory.free, lower_.to_lend(device));
    return MemoryInfo{device_budget(options_, {memory.free - lent, memory.total}), memory.total};
  }
  const Bytes lost = heap->tier().usage().lost, live = heap->residency().figures().live_bytes();
  TESSERA_TRY_ASSIGN(Bytes reach, heap->tier().reach());
  // What other programs would give back is there for this one.
  if (heap->share() != nullptr) reach = heap->share()->reach().value_or(reach);
  return MemoryInfo{reach - std::min(reach, lost + live), heap->total_memory()};
}

Result<MemoryInfo> MemoryQueries::beside(DeviceId device) {
  TESSERA_TRY_ASSIGN(MemoryInfo memory, driver_.memory_info(device));
  DeviceHeap* const heap = heaps_.made(device);
  if (heap == nullptr) return memory;
  const TierUsage usage = heap->tier().usage();
  const Bytes held = usage.used + usage.spare, kept = usage.lost + heap->residency().figures().live_bytes();
  memory.free += held - std::min(held, kept);
  return memory;
}

// The device as if the tiers below were part of it. Bytes that other devices hold there are not free. It may be in any
// tier, so the amount counted is what cannot be in their own memory or in what they borrow.
MemoryInfo MemoryQueries::enlarged(DeviceHeap& heap) const {
  const Bytes peer = lower_.peer_usage().capacity,
              below = lower_.host_usage().capacity + lower_.file().usage().capacity;
  Bytes taken = heap.residency().figures().live_bytes(), borrowed;
  for (DeviceHeap* const other : heaps_.all()) {
    if (other == &heap) continue;
    const Bytes live = other->residency().figures().live_bytes(), own = other->tier().limit();
    if (live > own) (other->borrows() && !heap.borrows() ? borrowed : taken) += live - own;
  }
  taken += borrowed - std::min(borrowed, peer);
  const Bytes total = heap.tier().limit() + below + (heap.borrows() ? peer : Bytes());
  return MemoryInfo{total > taken ? total - taken : Bytes(), total};
}

}  // namespace tessera
