// One bounded region of pinned host memory, managed by jemalloc.
//
// Why jemalloc: blocks of any size are allocated and freed for days, from many threads, and its bookkeeping is proven.
// It runs on extent hooks that only hand out pieces of one region (host_region.hpp), so the bound is exact and every
// byte is pinned. Its metadata is outside of the bound, and sizes that are size classes of jemalloc, as all page sizes
// are, have no overhead: a budget of 64 MiB holds 32 base pages. This is the only file that uses jemalloc.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/status.hpp"
#include "base/units.hpp"
#include "driver/driver.hpp"
#include "tier/host_pages.hpp"

namespace tessera {

class HostArena {
 public:
  // The region grows by `chunk` at a time, or by what is left under the bound.
  HostArena(Driver& driver, Bytes capacity, Bytes chunk = 64_MiB, HostPages& pages = system_host_pages());
  // REQUIRES: nothing in it is in use.
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  // Backs `bytes` in one piece, unless the arena has grown since growths() returned `seen`. Otherwise as grow().
  using Growth = std::function<bool(Bytes bytes, std::uint64_t seen)>;

  // Aligned to 4096, contents undefined. Null when the bound is reached or the machine refuses. `growth` is called when
  // too little is backed: the arena's own grow(), which pins on the calling thread, or a function that delegates it.
  void* allocate(Bytes bytes, const Growth& growth);
  void* allocate(Bytes bytes);
  // REQUIRES: allocate(bytes) returned it.
  void free(void* pointer, Bytes bytes);
  // Memory backed from now on is to be on this NUMA node.
  void settle(unsigned node);
  // Backs one more chunk for the next allocations. False at the bound, or when the machine refuses.
  bool grow();
  bool grow(Bytes bytes, std::uint64_t seen);
  // Returns chunks that are not in use to the machine.
  void trim();
  bool contains(const void* pointer) const;
  // The distance of `pointer` from the arena's first byte. REQUIRES: contains(pointer).
  Bytes offset_of(const void* pointer) const;
  // False when the driver refused to pin: logged once; copies then run synchronously.
  bool pinned() const;
  // The machine refused memory at the last request.
  bool is_refused() const;
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
