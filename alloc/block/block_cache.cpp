#include "block/block_cache.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace tessera {
namespace {

// A block that can be recomputed, or that is pinned, needs a run of its own.
bool shares_willingly(const Run& run) { return run.recomputed_in.load() == 0 && run.pins.load() == 0; }

}  // namespace

BlockCache::BlockCache(Residency& residency, PageManager& pages, BlockCacheOptions options)
    : residency_(residency),
      pages_(pages),
      options_(options),
      slots_(residency.streams()),
      slot_pages_(residency.streams(), slots_),
      bundles_(residency.streams(), options.bundle_limit),
      runs_(residency.streams()),
      burst_(pages),
      placed_(options.planned_limit, [&residency] { return residency.spare_for_each_block(); }),
      threads_([this](ThreadCache& cache) { empty(cache); }),
      mappable_(residency, pages, [this](Bytes bytes, bool made) {
        made ? count_allocation(nullptr, bytes, false) : count_free(nullptr, bytes);
      }) {}

BlockCache::~BlockCache() { release_all(); }

void BlockCache::release_all() {
  threads_.close();
  const auto release = [this](Run* run) {
    const Status released = pages_.release(run);
    if (released.code() == Code::kBusy) residency_.runs().disown(run);
    if (!released.is_ok()) {
      log_line(LogLevel::kWarning, "a run could not be freed: {}", released.to_string());
    }
  };
  for (const auto& block : mappable_.remove_all()) release(block->run);
  for (const auto& block : runs_.remove_all()) release(block->run);
  for (const SlotPage& page : slot_pages_.remove_all()) release(page.run());
  for (const auto& bundle : bundles_.remove_all()) release(bundle->run);
}

// Step 1.
[[gnu::always_inline]] inline Result<Address> BlockCache::allocate_cached(const Request& request) {
  ThreadCache* const cache = threads_.mine();
  if (!cache) return allocate_slow(request, nullptr);

  const Address address = cache->pop(request.key);
  if (!address) return allocate_slow(request, cache);
  const auto block = locate(pages_.find(address), address);
  if (const Status started = start(*block, request); !started.is_ok()) {
    put_shared(address);
    if (started.code() != Code::kOutOfMemory) return started;
    return allocate_slow(request, cache);
  }
  count_allocation(cache, request.bytes, true);
  return address;
}

Result<Address> BlockCache::allocate(Bytes bytes, StreamId stream, TagId tag) {
  if (!bytes) return Status(Code::kInvalidArgument, "a block of 0 bytes");
  const auto size_class = size_class_for(bytes);
  if (!size_class) {
    return Status(Code::kOutOfMemory, fmt::format("{} bytes exceed the address space", bytes.value()));
  }
  const Request request{bytes, stream, {*size_class, stream_key(stream), tag}};
  if (!size_class->is_slot() && placed_.listens(residency_)) [[unlikely]]
    return allocate_noted(request);
  return allocate_cached(request);
}

Result<Address> BlockCache::allocate_noted(Request request) {
  const CacheKey& key = request.key;
  const PlacedBlocks::Asked asked = placed_.ask(request.bytes, key.stream, key.tag, residency_.is_short());
  if (!asked.moved.empty()) residency_.note_moved(asked.moved);
  if (asked.spot) request.spot = &*asked.spot;
  Result<Address> address =
      request.spot != nullptr ? allocate_slow(request, threads_.mine()) : allocate_cached(request);
  placed_.note_served(asked, address.is_ok() ? std::optional(stay_at(address.value())) : std::nullopt);
  return address;
}

AllocationLog::Stay BlockCache::stay_at(Address address) const {
  const bool has_own_run = locate(pages_.find(address), address)->owner->kind == OwnerKind::kSingle;
  return {.address = address, .has_own_run = has_own_run, .made = residency_.epoch()};
}

Status BlockCache::free(Address address, StreamId stream) {
  std::optional<Located> block;
  std::optional<BlockState> ended;
  {
    // The address may be stale, and its run may be in release.
    const PageManager::Reader reader(pages_);
    block = locate(pages_.find(address), address);
    const bool ends = block && block->address == address && block->owner->kind != OwnerKind::kMappable;
    if (ends) ended = block->word->end();
  }
  if (!ended) return not_ours(address);
  if (block->capacity > kSlotLimit && placed_.listens(residency_)) [[unlikely]] {
    placed_.note_freed(address, !shares_willingly(*block->run), residency_.epoch() + 1);
  }
  ThreadCache* const cache = threads_.mine();
  count_free(cache, block->capacity - ended->slack);
  const Epoch epoch = residency_.note_free(block->run, stream);
  if (block->owner->kind == OwnerKind::kSingle) {
    block->run->live.store(0, std::memory_order_release);
    residency_.fence_freed(stream);
  }
  cache_freed(*block, {stream, epoch}, cache);
  return Status::ok();
}

// Makes a block that is out of the caches live, with its bytes in place; on an error nothing has changed.
Status BlockCache::start(const Located& block, const Request& request) {
  const bool single = block.owner->kind == OwnerKind::kSingle;
  if (single) {
    block.single().stream.store(request.key.stream, std::memory_order_relaxed);
    block.run->fresh.store(true, std::memory_order_relaxed);
    block.run->live.store(1, std::memory_order_release);
  }
  block.word->begin(block.capacity - request.bytes);
  if (block.run->missing.load() == 0) return Status::ok();
  const bool may_be_alone = block.owner->kind != OwnerKind::kSlab;
  Status backed = residency_.ensure(block.run, request.stream, may_be_alone ? Contents::kUndefined : Contents::kKept);
  if (backed.is_ok()) return backed;
  block.word->end();
  if (single) block.run->live.store(0, std::memory_order_release);
  return backed;
}

std::optional<BlockCache::Located> BlockCache::locate_in(Bundle& bundle, Run* run, Address address) {
  const auto place = bundle.place_at(address - run->address);
  if (!place) return std::nullopt;
  return Located{run, &bundle, &bundle.word(*place), run->address + bundle.offset(*place), bundle.capacity(*place)};
}

std::optional<BlockInfo> BlockCache::info_of(Run* run, Address address) {
  const auto block = locate(run, address);
  if (!block) return std::nullopt;
  const BlockState state = block->word->read();
  const Bytes bytes = block->capacity - state.slack;
  if (!state.live || address - block->address >= bytes) return std::nullopt;
  return BlockInfo{run, block->address, bytes, block->capacity, block->owner->tag, state.generation};
}

std::optional<BlockInfo> BlockCache::Lookup::block_of(Address address) const {
  return info_of(blocks_.pages_.find(address), address);
}

Result<BlockInfo> BlockCache::find(Address address) const {
  if (const auto info = Lookup(*this).block_of(address)) return *info;
  return not_ours(address);
}

Status BlockCache::not_ours(Address address) const {
  const auto refuse = [](std::string message) { return Status(Code::kNotFound, std::move(message)); };
  if (address < pages_.low() || address >= pages_.high()) {
    return refuse(fmt::format("{:#x} is not an address from Tessera", address.value()));
  }
  const PageManager::Reader reader(pages_);
  const auto block = locate(pages_.find(address), address);
  if (!block) return refuse(fmt::format("no block begins at {:#x}", address.value()));
  const BlockState state = block->word->read();
  const Bytes inside = address - block->address;
  if (!state.live) {
    return refuse(
        fmt::format("the block at {:#x} is already free (generation {})", block->address.value(), state.generation));
  }
  if (block->owner->kind == OwnerKind::kMappable) {
    return refuse(fmt::format("the memory at {:#x} was mapped by the program, not allocated", address.value()));
  }
  return refuse(fmt::format("{:#x} is {} bytes into the block of {} bytes at {:#x}", address.value(), inside.value(),
                            (block->capacity - state.slack).value(), block->address.value()));
}

}  // namespace tessera
