// Memory that the program maps itself: what cuMemCreate, cuMemAddressReserve and cuMemMap ask for.
#include <fmt/format.h>

#include "api/allocator.hpp"

namespace tessera {

// A block that never fits into the device could be used by no launch.
Result<Address> Allocator::create_mappable(DeviceId device, Bytes bytes) {
  DeviceHeap* heap = nullptr;
  TESSERA_TRY_ASSIGN(heap, this->heap(device));
  const Bytes memory = heap->tier().usage().capacity;
  if (bytes > memory) {
    return Status(Code::kOutOfMemory, fmt::format("{} bytes in one piece do not fit into the {} bytes of the device",
                                                  bytes.value(), memory.value()));
  }
  const TagId tag = TagStack::current();
  Result<Address> block = heap->blocks().mappable().create(bytes, tag);
  if (block.status().code() == Code::kOutOfMemory) {
    TESSERA_TRY(heap->blocks().trim());  // cached blocks take room in the heap too
    block = heap->blocks().mappable().create(bytes, tag);
  }
  if (!block.is_ok()) return explain(block.status(), *heap, bytes, OomFigures::Cause::kBlock);
  return block;
}

Status Allocator::destroy_mappable(Address address) {
  DeviceHeap* const heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  if (trace_ && heap->pages().is_reserved(address)) trace_->free(address.value());
  return heap->blocks().mappable().destroy(address);
}

Result<Address> Allocator::move_mappable(Address address, std::optional<Address> to) {
  DeviceHeap* const heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  const bool was_mapped = heap->pages().is_reserved(address);
  Result<Address> moved = heap->blocks().mappable().move(address, to);
  kick_pump(*heap);
  if (!moved.is_ok() || !trace_) return moved;
  if (was_mapped) trace_->free(address.value());
  const auto block = heap->blocks().find(moved.value());
  if (to && block.is_ok()) {
    trace_->alloc(to->value(), block.value().bytes, kNoStream, tags_.name_of(block.value().tag), heap->device());
  }
  return moved;
}

Result<Address> Allocator::reserve_addresses(DeviceId device, Bytes bytes) {
  DeviceHeap* heap = nullptr;
  TESSERA_TRY_ASSIGN(heap, this->heap(device));
  return heap->pages().reserve(bytes);
}

Status Allocator::unreserve_addresses(Address address) {
  DeviceHeap* const heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  return heap->pages().unreserve(address);
}

}  // namespace tessera
