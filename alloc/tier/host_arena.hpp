// One bounded region of pinned host memory, carved by jemalloc.
//
// Why jemalloc: blocks of any size come and go for days, from many threads, and its bookkeeping is
// proven. It runs over extent hooks that hand out pieces of one region only (host_region.hpp), so
// the bound is real and every byte is pinned. Its own metadata lies outside of the bound, and sizes
// that are size classes of jemalloc's, as all pages are, take no more than they say: a budget of
// 64 MiB holds 32 base pages. This is the one file that knows jemalloc.
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
  // The region grows by `chunk` at a time, or by what the last one has left under the bound.
  HostArena(Driver& driver, Bytes capacity, Bytes chunk = 64_MiB,
            HostPages& pages = system_host_pages());
  // REQUIRES: nothing of it is in use.
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  // Backs so many bytes in one piece, unless the arena has grown since growths() told `seen`. Else as grow().
  using Growth = std::function<bool(Bytes bytes, std::uint64_t seen)>;

  // Aligned to 4096, contents undefined. Null when the bound is reached or the machine refuses. `growth` is called where
  // too little is backed: the arena's own grow(), for which the caller pins, or one that has others do it.
  void* allocate(Bytes bytes, const Growth& growth);
  void* allocate(Bytes bytes);
  // REQUIRES: allocate(bytes) returned it.
  void free(void* pointer, Bytes bytes);
  // What is backed from now on is to lie on this NUMA node.
  void settle(unsigned node);
  // Backs one more chunk, for whoever allocates next. False at the bound, or when the machine refuses.
  bool grow();
  bool grow(Bytes bytes, std::uint64_t seen);
  // Gives back to the machine the chunks nothing of which is in use.
  void trim();
  bool contains(const void* pointer) const;
  // How far `pointer` lies behind the arena's first byte. REQUIRES: contains(pointer).
  Bytes offset_of(const void* pointer) const;
  // False when the driver would not pin: said once, copies then run synchronously.
  bool pinned() const;
  // The machine refused memory when it was asked last.
  bool is_refused() const;
  // Bytes of the region that are backed (and pinned) by now.
  Bytes backed() const;
  Status validate() const;

 private:
  struct Region;
  void control(const char* name, std::optional<std::ptrdiff_t> value = std::nullopt);

  std::unique_ptr<Region> region_;
  std::optional<unsigned> arena_;  // jemalloc's index
};

}  // namespace tessera
