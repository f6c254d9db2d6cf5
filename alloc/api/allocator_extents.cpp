// Objects inside blocks, as the program tells them.
#include <optional>
#include <utility>

#include "api/allocator.hpp"

namespace tessera {

// The extents before are destroyed when no other call reads them any more, and this one is no reader.
Status Allocator::set_extents(Address address, std::vector<Extent> extents) {
  DeviceHeap* const heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  std::unique_ptr<const Extents> before;
  {
    const BlockCache::Lookup lookup(heap->blocks());
    const auto block = lookup.block_of(address);
    if (!block) return not_ours(address);
    Run* const run = block->run->row != nullptr ? block->run->row : block->run;
    std::optional<Extents> next;
    if (!extents.empty()) {
      const auto reserved = run->is_range ? heap->pages().reservation_of(address) : std::nullopt;
      TESSERA_TRY_ASSIGN(next, Extents::of(std::move(extents), reserved ? reserved->second : block->bytes));
    }
    // Others may share the run; it is too small for parts then.
    TESSERA_TRY_ASSIGN(before, heap->residency().set_extents(run, std::move(next)));
  }
  if (before != nullptr) heap->pages().await_readers();
  return {};
}

}  // namespace tessera
