// One bounded region of pinned host memory, carved by jemalloc.
//
// Why jemalloc: frames of several sizes come and go for days; its extent allocator keeps the
// region from fragmenting, and its bookkeeping is proven. It runs over extent hooks that hand out
// pieces of this region only, so the bound is real and every byte is pinned. This is the one file
// that knows jemalloc.
//
// The region is one reservation of addresses that grows in registered chunks, so start-up does not
// pin a budget that is never used.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <memory>

#include "base/units.hpp"
#include "driver/driver.hpp"

namespace tessera {

class HostArena {
 public:
  HostArena(Driver& driver, Bytes capacity);
  ~HostArena();

  // Aligned to 4096, contents undefined. Null when the bound is reached or the machine refuses.
  void* allocate(Bytes bytes);
  // REQUIRES: allocate(bytes) returned it.
  void free(void* pointer, Bytes bytes);
  // False when the driver would not pin: said once, copies then run synchronously.
  bool pinned() const;
  // Bytes of the region that are backed (and pinned) by now.
  Bytes backed() const;

 private:
  class Region;
  std::unique_ptr<Region> region_;
  unsigned arena_ = 0;
};

}  // namespace tessera
