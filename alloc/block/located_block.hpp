// The block at an address: its run, its record, its word and its bounds.
//
// Thread safety: any thread, while the run cannot be released.
#pragma once

#include <cstdint>
#include <optional>

#include "block/bundle.hpp"
#include "block/shared_page.hpp"

namespace tessera {

// Live or not.
struct LocatedBlock {
  Run* run = nullptr;
  BlockOwner* owner = nullptr;
  BlockWord* word = nullptr;
  Address address;
  Bytes capacity;
  Slab& slab() const { return static_cast<Slab&>(*owner); }
  Bundle& bundle() const { return static_cast<Bundle&>(*owner); }
  SingleBlock& single() const { return static_cast<SingleBlock&>(*owner); }
};

struct BlockInfo {
  Run* run = nullptr;
  Address address;  // of the block's first byte
  Bytes bytes;      // as requested
  Bytes capacity;
  TagId tag;
  std::uint64_t generation = 0;  // incremented with each reuse
};

std::optional<LocatedBlock> locate_in(Bundle& bundle, Run* run, Address address);
// The block with this byte in its capacity.
inline std::optional<LocatedBlock> locate(Run* run, Address address) {
  if (!run) return std::nullopt;
  auto* const owner = static_cast<BlockOwner*>(run->owner.record);
  if (fills_run(owner->kind)) {
    return LocatedBlock{run, owner, &static_cast<SingleBlock*>(owner)->word, run->address, owner->size_class.bytes()};
  }
  if (owner->kind == OwnerKind::kBundle) [[unlikely]]
    return locate_in(static_cast<Bundle&>(*owner), run, address);
  auto* slab = static_cast<Slab*>(owner);
  if (owner->kind == OwnerKind::kSharedPage) {
    slab = static_cast<SharedPage*>(owner)->slab_at(address - run->address);
    if (!slab) return std::nullopt;
  }
  const Address start = run->address + slab->start;
  const auto slot = slab->slot_at(address - start);
  if (!slot) return std::nullopt;
  return LocatedBlock{run, slab, &slab->word(*slot), start + slab->offset(*slot), slab->size_class.bytes()};
}
// Whether the byte belongs to a live block.
inline bool lives_at(Run* run, Address address) {
  const auto block = locate(run, address);
  if (!block) return false;
  const BlockState state = block->word->read();
  return state.live && address - block->address < block->capacity - state.slack;
}
// The live block with this byte.
std::optional<BlockInfo> live_block_at(Run* run, Address address);

}  // namespace tessera
