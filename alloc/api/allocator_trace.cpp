// What a recording stores about work: the blocks it uses.
#include <algorithm>

#include "api/allocator.hpp"

namespace tessera {

// A block with several of the addresses counts once.
TraceWriter::OpKind Allocator::trace_op(std::span<const Address> addresses, StreamId stream, Access access,
                                        std::string_view name) {
  TraceWriter::OpKind kind{.name = std::string(name), .blocks = 0, .bytes = {}, .device = {}};
  std::vector<std::uint64_t> ids;
  for (const Address address : addresses) {
    DeviceHeap* const heap = heap_of(address);
    if (heap == nullptr) continue;
    kind.device = heap->device();
    const auto block = heap->blocks().find(address);
    if (!block.is_ok() || std::ranges::find(ids, block.value().address.value()) != ids.end()) continue;
    ids.push_back(block.value().address.value());
    kind.bytes += block.value().bytes;
  }
  kind.blocks = ids.size();
  const std::span<const std::uint64_t> writes = access == Access::kRead ? std::span<const std::uint64_t>() : ids;
  trace_->op(name, stream, kind.device, ids, writes);
  return kind;
}

}  // namespace tessera
