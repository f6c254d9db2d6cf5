// What a recording tells of work: which blocks it uses.
#include "api/allocator.hpp"

namespace tessera {

OpTimes::Op Allocator::trace_op(std::span<const Address> addresses, StreamId stream, Access access,
                                std::string_view name) {
  OpTimes::Op op{.number = 0, .name = name, .bytes = {}, .device = {}};
  std::vector<std::uint64_t> ids;
  for (const Address address : addresses) {
    DeviceHeap* const heap = heap_of(address);
    if (heap == nullptr) continue;
    op.device = heap->device();
    const auto block = heap->blocks().find(address);
    if (!block.is_ok()) continue;
    ids.push_back(block.value().address.value());
    op.bytes += block.value().bytes;
  }
  const std::span<const std::uint64_t> writes = access == Access::kRead ? std::span<const std::uint64_t>() : ids;
  op.number = trace_->op(name, stream, op.device, ids, writes);
  return op;
}

}  // namespace tessera
