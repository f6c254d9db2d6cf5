#include "lab/replay/mapped_blocks.hpp"

#include <algorithm>

namespace tessera {

Result<Address> MappedBlocks::allocate(DeviceId device, Bytes bytes) {
  MappableMemory& memory = allocator_.mappable();
  TESSERA_TRY_ASSIGN(const Address block, memory.reserve(device, bytes));
  std::vector<Address>& handles = blocks_[block];
  const Status filled = fill(device, block, round_up(bytes, kBasePage), handles);
  if (filled.is_ok()) return block;
  TESSERA_TRY(free(block));
  return filled;
}

// What is listed is destroyed, wherever it is.
Status MappedBlocks::fill(DeviceId device, Address block, Bytes bytes, std::vector<Address>& handles) {
  MappableMemory& memory = allocator_.mappable();
  for (Bytes at; at < bytes; at += handle_) {
    TESSERA_TRY_ASSIGN(const Address made, memory.create(device, std::min(handle_, bytes - at)));
    handles.push_back(made);
    TESSERA_TRY_ASSIGN(handles.back(), memory.move(made, block + at));
  }
  return {};
}

Status MappedBlocks::free(Address block) {
  const auto known = blocks_.extract(block);
  for (const Address handle : known.mapped()) TESSERA_TRY(allocator_.mappable().destroy(handle));
  return allocator_.mappable().unreserve(block);
}

}  // namespace tessera
