#include "tier/host_arena.hpp"

#include <cstring>

#include <fmt/core.h>
#include <jemalloc/jemalloc.h>

#include "base/check.hpp"
#include "base/log.hpp"

// A free extent goes back to the region, because only the region can merge it with its neighbours: jemalloc never
// merges extents from two calls.
const char* je_malloc_conf = "retain:false";

namespace tessera {

// jemalloc passes its hooks back with every call; the region is stored behind them.
struct HostArena::Region : extent_hooks_s {
  Region(Driver& driver, Bytes capacity, Bytes chunk, HostPages& pages, HostRegion::Unregistered unregistered);
  HostRegion memory;
};

namespace {

// The argument of jemalloc's `experimental.arenas_create_ext` (5.3, arena_types.h). The plain `arenas.create` would
// allocate metadata through the hooks, and so from the budget.
struct ArenaConfig {
  extent_hooks_t* hooks;
  bool metadata_use_hooks;
};

}  // namespace

HostArena::Region::Region(Driver& driver, Bytes capacity, Bytes chunk, HostPages& pages,
                          HostRegion::Unregistered unregistered)
    : extent_hooks_s{}, memory(driver, capacity, chunk, pages, unregistered) {
  // Absent hooks (commit, purge, ...) mean that jemalloc does not try: pinned memory stays as it is.
  alloc = [](extent_hooks_t* hooks, void* wanted, std::size_t size, std::size_t alignment, bool* zero, bool* commit,
             unsigned) -> void* {
    if (wanted != nullptr) return nullptr;
    void* const found = static_cast<Region*>(hooks)->memory.take(Bytes(size), Bytes(alignment));
    if (found != nullptr && *zero) std::memset(found, 0, size);
    *commit = true;
    return found;
  };
  dalloc = [](extent_hooks_t* hooks, void* start, std::size_t size, bool, unsigned) {
    static_cast<Region*>(hooks)->memory.give(start, Bytes(size));
    return false;
  };
  split = [](extent_hooks_t*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned) { return false; };
  merge = [](extent_hooks_t*, void*, std::size_t, void*, std::size_t, bool, unsigned) { return false; };
}

HostArena::HostArena(Driver& driver, Bytes capacity, Bytes chunk, HostPages& pages,
                     HostRegion::Unregistered unregistered)
    : region_(std::make_unique<Region>(driver, capacity, chunk, pages, unregistered)) {
  if (!capacity) return;
  ArenaConfig config{region_.get(), false};
  unsigned index = 0;
  std::size_t length = sizeof(index);
  const int error = je_mallctl("experimental.arenas_create_ext", &index, &length, &config, sizeof(config));
  if (error != 0) {
    log_line(LogLevel::kWarning, "no host tier: its arena cannot be created: {}", std::strerror(error));
    return;
  }
  arena_ = index;
  // Return free extents to the region at once.
  for (const char* name : {"dirty_decay_ms", "muzzy_decay_ms"}) control(name, 0);
}

HostArena::~HostArena() {
  if (arena_) control("destroy");
}

void* HostArena::allocate_small(Bytes bytes, Bytes alignment, const Growth& growth) {
  if (!arena_ || !bytes) return nullptr;
  const int flags = MALLOCX_ARENA(*arena_) | MALLOCX_TCACHE_NONE | MALLOCX_ALIGN(alignment.value());
  std::uint64_t seen = 0;
  do {
    seen = region_->memory.growths();
    if (void* const found = je_mallocx(bytes.value(), flags)) return found;
  } while (growth(bytes, seen));
  // An extent that another thread is freeing may not have reached the region yet.
  control("purge");
  return je_mallocx(bytes.value(), flags);
}

void HostArena::free_small(void* pointer, Bytes bytes, Bytes alignment) {
  DCHECK(contains(pointer));
  je_sdallocx(pointer, bytes.value(), MALLOCX_TCACHE_NONE | MALLOCX_ALIGN(alignment.value()));
}

void* HostArena::allocate_exactly(Bytes bytes, const Growth& growth) {
  if (!arena_ || !bytes) return nullptr;
  return region_->memory.take_or_grow(bytes, [&](std::uint64_t seen) { return growth(bytes, seen); });
}

void HostArena::free_exactly(void* pointer, Bytes bytes) { region_->memory.give(pointer, bytes); }
bool HostArena::limit_to(Bytes bytes) { return region_->memory.limit_to(bytes); }

bool HostArena::grow(Bytes bytes, std::uint64_t seen) { return region_->memory.grow(bytes, seen); }

void HostArena::trim(Bytes bytes) {
  if (!arena_) return;
  control("purge");
  region_->memory.trim(bytes);
}

bool HostArena::contains(const void* pointer) const { return region_->memory.contains(pointer); }
std::pair<std::uint64_t, std::uint64_t> HostArena::range() const { return region_->memory.range(); }
Bytes HostArena::backed() const { return region_->memory.backed(); }
Status HostArena::validate() const { return region_->memory.validate(); }

// Runs a jemalloc control for this arena.
void HostArena::control(const char* name, std::optional<std::ptrdiff_t> value) {
  char full_name[64];
  *fmt::format_to_n(full_name, sizeof(full_name) - 1, "arena.{}.{}", *arena_, name).out = '\0';
  const int error = je_mallctl(full_name, nullptr, nullptr, value ? &*value : nullptr, value ? sizeof(*value) : 0);
  if (error != 0) {
    log_line(LogLevel::kWarning, "host arena: {}: {}", full_name, std::strerror(error));
  }
}

}  // namespace tessera
