#include "api/mappable_memory.hpp"

#include <fmt/core.h>

namespace tessera {

Result<Address> MappableMemory::create(DeviceId device, Bytes bytes) {
  DeviceHeap* heap = nullptr;
  TESSERA_TRY_ASSIGN(heap, heaps_.heap(device));
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
  if (!block.is_ok()) return oom_.explain(block.status(), *heap, bytes, OomFigures::Cause::kBlock);
  return block;
}

Status MappableMemory::destroy(Address address) {
  DeviceHeap* const heap = heaps_.of(address);
  if (heap == nullptr) return not_ours(address);
  if (recorder_.is_on() && heap->pages().is_reserved(address)) recorder_.writer().free(address.value());
  return heap->blocks().mappable().destroy(address);
}

Result<Address> MappableMemory::move(Address address, std::optional<Address> to) {
  DeviceHeap* const heap = heaps_.of(address);
  if (heap == nullptr) return not_ours(address);
  const bool was_mapped = heap->pages().is_reserved(address);
  Result<Address> moved = heap->blocks().mappable().move(address, to);
  heaps_.kick_pump(*heap);
  if (!moved.is_ok() || !recorder_.is_on()) return moved;
  if (was_mapped) recorder_.writer().free(address.value());
  const auto block = heap->blocks().find(moved.value());
  if (to && block.is_ok()) {
    recorder_.writer().alloc(to->value(), block.value().bytes, kNoStream, tags_.name_of(block.value().tag),
                             heap->device());
  }
  return moved;
}

Result<Address> MappableMemory::reserve(DeviceId device, Bytes bytes) {
  DeviceHeap* heap = nullptr;
  TESSERA_TRY_ASSIGN(heap, heaps_.heap(device));
  return heap->pages().reserve(bytes);
}

Status MappableMemory::unreserve(Address address) {
  DeviceHeap* const heap = heaps_.of(address);
  if (heap == nullptr) return not_ours(address);
  return heap->pages().unreserve(address);
}

}  // namespace tessera
