// One bounded region of pinned host memory, managed by jemalloc.
//
// Why jemalloc: blocks of any size are allocated and freed for days, from many threads, and its bookkeeping is proven.
// It runs on extent hooks that only hand out pieces of one region (host_region.hpp), so the bound is exact and every
// byte is pinned. Its metadata is outside of the bound. Large sizes are taken from the region directly, so that no byte
// is lost (allocate_exactly), as the host tier takes its frames. This is the only file that uses jemalloc.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/status.hpp"
#include "base/units.hpp"
#include "driver/driver.hpp"
#include "tier/host_pages.hpp"
#include "tier/host_region.hpp"

namespace tessera {

class HostArena {
 public:
  // The region grows by `chunk` at a time, or by what is left under the bound.
  HostArena(Driver& driver, Bytes capacity, Bytes chunk = 64_MiB, HostPages& pages = system_host_pages(),
            HostRegion::Unregistered unregistered = HostRegion::Unregistered::kKept);
  // Blocks that are still in use end with it.
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  // Backs `bytes` in one piece, unless the arena has grown since growths() returned `seen`.
  using Growth = std::function<bool(Bytes bytes, std::uint64_t seen)>;

  // Contents undefined. Null when the bound is reached or the machine refuses. `growth` is called when too little is
  // backed: the arena's own grow(), which pins on the calling thread, or a function that delegates it. REQUIRES:
  // `alignment` is at most 4096.
  void* allocate_small(Bytes bytes, Bytes alignment, const Growth& growth);
  // REQUIRES: allocate_small() of the same returned it.
  void free_small(void* pointer, Bytes bytes, Bytes alignment);
  // The same, aligned to 4096, of exactly `bytes`, where jemalloc would round up by as much as a fifth: the region's
  // extents are merged with their neighbours when they are freed, so no size class is needed. REQUIRES: a multiple of
  // 4096.
  void* allocate_exactly(Bytes bytes, const Growth& growth);
  void free_exactly(void* pointer, Bytes bytes);
  // At most this much may be backed from now on. False, without effect, if more is backed.
  bool limit_to(Bytes bytes);
  // As a Growth. False at the bound, or when the machine refuses.
  bool grow(Bytes bytes, std::uint64_t seen);
  // Returns chunks that are not in use to the machine, until at least `bytes` were returned.
  void trim(Bytes bytes = Bytes(~std::uint64_t{0}));
  bool contains(const void* pointer) const;
  // All its addresses: [first, second). Empty if it has no capacity.
  std::pair<std::uint64_t, std::uint64_t> range() const;
  // Bytes of the region that are backed (and pinned) now.
  Bytes backed() const;
  Status validate() const;

 private:
  struct Region;
  void control(const char* name, std::optional<std::ptrdiff_t> value = std::nullopt);

  std::unique_ptr<Region> region_;
  std::optional<unsigned> arena_;  // jemalloc's index
};

}  // namespace tessera
