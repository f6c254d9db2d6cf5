// How a fuzz program says what is where in its blocks: by extents that are set at once, or by objects one by one.
#include <utility>
#include <vector>

#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {

// Equal parts with gaps between them. Their contents count as undefined, because a stamp is at both ends of what was
// written as a whole.
void FuzzPlayer::cut(const FuzzOp& op) {
  FuzzBlock* const block = block_at(op);
  if (block == nullptr || block->remade || block->bytes < 1_MiB) return;
  if (setup_.objects && !block->beside && op.nth % 3 != 0) return cut_into_objects(op, *block);
  Hints& hints = machine_.allocator().hints();
  if (op.variant == 6) {
    expect_wrong("set_extents", hints.set_extents(block->address, {{1_B, 2_B}, {2_B, 1_B}}));
    const Bytes all = block->beside ? kSegment : block->bytes;
    return expect_wrong("set_extents", hints.set_extents(block->address, {{all, 1_B}}));
  }
  // Of a block in a segment they count from the start of the segment, and end those of the other blocks there.
  const DeviceId device(static_cast<std::uint64_t>(block - blocks_.data()) %
                        static_cast<std::uint64_t>(setup_.devices));
  const Bytes start = block->beside ? block->address - segments_[device.value()] : Bytes();
  std::vector<FuzzPart> parts = op.variant == 7 ? std::vector<FuzzPart>() : parts_of(op, *block);
  std::vector<Extent> extents;
  for (const FuzzPart& part : parts) extents.push_back({start + part.offset, part.bytes});
  const Address inside = block->address + block->bytes / 2;
  if (!passed("set_extents", hints.set_extents(inside, std::move(extents)))) return;
  block->has_objects = false;
  set_parts(*block, std::move(parts));
}

std::vector<FuzzPart> FuzzPlayer::parts_of(const FuzzOp& op, const FuzzBlock& block) {
  const std::uint32_t count = extents_of(op);
  const Bytes each = block.bytes / count, gap(op.nth % 2 * 4096);
  std::vector<FuzzPart> parts;
  for (std::uint32_t i = 0; i < count; ++i) parts.push_back({each * i, each - gap});
  return parts;
}

void FuzzPlayer::set_parts(FuzzBlock& block, std::vector<FuzzPart> parts) {
  if (block.parts.empty() && parts.empty()) return;
  block.parts = std::move(parts);
  block.stamp = 0;
}

// As an allocator that cuts objects from its blocks: the old ones end, then others begin, some beside them. After an
// error of an addition the block may mean all of it, so its parts are right either way.
void FuzzPlayer::cut_into_objects(const FuzzOp& op, FuzzBlock& block) {
  Hints& hints = machine_.allocator().hints();
  if (op.variant == 7) {
    if (passed("keep_whole", hints.keep_whole(block.address))) set_parts(block, {});
    return;
  }
  std::vector<FuzzPart> parts = parts_of(op, block);
  std::vector<AddressRange> objects;
  for (const FuzzPart& part : parts) objects.push_back(AddressRange{block.address + part.offset, part.bytes});
  if (op.variant == 6) objects.push_back(AddressRange{objects[0].address + 1_MiB, objects[0].bytes});  // not possible
  std::vector<Address> before;
  for (const FuzzPart& part : block.parts) before.push_back(block.address + part.offset);
  if (block.has_objects) hints.remove_extents(before);
  if (op.nth % 2 == 0) {
    passed("add_extents", hints.add_extents(objects));
  } else {
    for (const AddressRange& object : objects) passed("add_extents", hints.add_extents({&object, 1}));
  }
  block.has_objects = true;
  set_parts(block, std::move(parts));
}

}  // namespace tessera
