// What a recording stores about work: the blocks it uses, and of large ones the part.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "api/allocator.hpp"

namespace tessera {

namespace {

// The runs that are meant. Where that is all of a range that exceeds the device, the one that contains the address.
template <class Named>
std::vector<Run*> in_range(DeviceHeap& heap, Run* run, const Named& named) {
  std::vector<Run*> runs;
  for_each_named(heap.pages().map(), run, named, [&](Run* meant) {
    if (!meant->is_range) return runs.push_back(meant);
    runs = heap.residency().fits({&meant, 1}) ? heap.residency().parts_of(*meant) : std::vector<Run*>{run};
  });
  return runs;
}

}  // namespace

// A block, or the same part of it, counts once however many addresses name it.
template <class Named>
TraceWriter::OpKind Allocator::trace_op(std::span<const Named> named, StreamId stream, Access access,
                                        std::string_view name) {
  TraceWriter::OpKind kind{.name = std::string(name), .blocks = 0, .bytes = {}, .device = {}};
  std::vector<TraceWriter::Operand> operands;
  std::unordered_set<const Run*> of_ranges;
  for (const Named& each : named) {
    DeviceHeap* const heap = heap_of(address_of(each));
    if (heap == nullptr) continue;
    kind.device = heap->device();
    const BlockCache::Lookup lookup(heap->blocks());
    const auto block = lookup.block_of(address_of(each));
    if (!block) continue;
    if (block->run->row != nullptr) {
      for (const Run* const run : in_range(*heap, block->run, each)) {
        const TraceWriter::Operand whole{.id = run->address.value()};
        if (!of_ranges.insert(run).second) continue;
        operands.push_back(whole);
        kind.bytes += run->shape.bytes();
      }
      continue;
    }
    TraceWriter::Operand operand{.id = block->address.value()};
    if (block->bytes >= kLeastRow) {
      const Extent part = named_bytes(*block->run, each);
      if (part.bytes < block->bytes) operand = {block->address.value(), part.offset, part.bytes};
    }
    if (std::ranges::find(operands, operand) != operands.end()) continue;
    operands.push_back(operand);
    kind.bytes += operand.bytes ? operand.bytes : block->bytes;
  }
  kind.blocks = operands.size();
  const std::span<const TraceWriter::Operand> writes =
      access == Access::kRead ? std::span<const TraceWriter::Operand>() : operands;
  trace_->op(name, stream, kind.device, operands, writes);
  return kind;
}

template TraceWriter::OpKind Allocator::trace_op(std::span<const Address>, StreamId, Access, std::string_view);
template TraceWriter::OpKind Allocator::trace_op(std::span<const AddressRange>, StreamId, Access, std::string_view);

}  // namespace tessera
