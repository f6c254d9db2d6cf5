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
    std::optional<Extents> next;
    if (!extents.empty()) {
      TESSERA_TRY_ASSIGN(next, Extents::of(std::move(extents), block->bytes));
    }
    // Others may share the run; it is too small for parts then.
    TESSERA_TRY_ASSIGN(before, heap->residency().set_extents(block->run, std::move(next)));
  }
  if (before != nullptr) heap->pages().await_readers();
  return {};
}

}  // namespace tessera
