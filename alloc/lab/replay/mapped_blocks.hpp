// Blocks of a trace as memory that the program maps itself: each is a reservation, filled with handles of equal size,
// as allocators of frameworks fill theirs (PyTorch's expandable segments).
//
// Thread safety: one thread.
#pragma once

#include <map>
#include <vector>

#include "api/allocator.hpp"
#include "base/page_class.hpp"

namespace tessera {

class MappedBlocks {
 public:
  // REQUIRES: it outlives this.
  MappedBlocks(Allocator& allocator, Bytes handle) : allocator_(allocator), handle_(round_up(handle, kBasePage)) {}

  // With handles of this thread's tag; the last may be smaller. Errors: those of MappableMemory; nothing is left then.
  Result<Address> allocate(DeviceId device, Bytes bytes);
  bool contain(Address block) const { return blocks_.contains(block); }
  // Waits for its uses. REQUIRES: contain(). Errors: those of MappableMemory.
  Status free(Address block);

 private:
  Status fill(DeviceId device, Address block, Bytes bytes, std::vector<Address>& handles);

  Allocator& allocator_;
  const Bytes handle_;
  std::map<Address, std::vector<Address>> blocks_;
};

}  // namespace tessera
