#include "block/located_block.hpp"

namespace tessera {

std::optional<LocatedBlock> locate_in(Bundle& bundle, Run* run, Address address) {
  const auto place = bundle.place_at(address - run->address);
  if (!place) return std::nullopt;
  return LocatedBlock{run, &bundle, &bundle.word(*place), run->address + bundle.offset(*place),
                      bundle.capacity(*place)};
}

std::optional<BlockInfo> live_block_at(Run* run, Address address) {
  const auto block = locate(run, address);
  if (!block) return std::nullopt;
  const BlockState state = block->word->read();
  const Bytes bytes = block->capacity - state.slack;
  if (!state.live || address - block->address >= bytes) return std::nullopt;
  return BlockInfo{run, block->address, bytes, block->capacity, block->owner->tag, state.generation};
}

}  // namespace tessera
