#include "block/block_cache.hpp"

#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

#include "base/log.hpp"

namespace tessera {
namespace {

// A block that can be recomputed, or that is pinned, needs a run of its own.
bool shares_willingly(const Run& run) { return run.recomputed_in.load() == 0 && run.pins.load() == 0; }

// A miss fetches one line of slots, including the requested one; a thread without a cache fetches only that
// one.
using SlotLine = std::array<Address, Slab::kLineSlots>;
static_assert(ThreadCache::kPerMagazine >= Slab::kLineSlots, "or a part of the line goes to another thread");
std::span<Address> wanted(SlotLine& line, const ThreadCache* cache) {
  return std::span(line).first(cache ? line.size() : 1);
}

}  // namespace

BlockCache::BlockCache(Residency& residency, PageManager& pages, BlockCacheOptions options)
    : residency_(residency),
      pages_(pages),
      shared_(residency, pages, options.bundle_limit),
      burst_(pages),
      placed_(options.planned_limit, [&residency] { return residency.spare_for_each_block(); }),
      threads_([this](ThreadCache& cache) {
        cache.steal([this](Address address) { shared_.put(address); });
        counts_.take_remainder(cache);
      }),
      counts_(threads_),
      trim_(residency, threads_, shared_, options.warm_limit),
      mappable_(residency, pages, [this](Bytes bytes, bool made) {
        made ? counts_.note_allocation(nullptr, bytes, false) : counts_.note_free(nullptr, bytes);
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
  shared_.remove_all(release);
}

// Step 1.
[[gnu::always_inline]] inline Result<Address> BlockCache::allocate_cached(const Request& request) {
  ThreadCache* const cache = threads_.mine();
  if (!cache) return allocate_slow(request, nullptr);

  const Address address = cache->pop(request.key);
  if (!address) return allocate_slow(request, cache);
  const auto block = locate(pages_.find(address), address);
  if (const Status started = start(*block, request); !started.is_ok()) {
    shared_.put(address);
    if (started.code() != Code::kOutOfMemory) return started;
    return allocate_slow(request, cache);
  }
  counts_.note_allocation(cache, request.bytes, true);
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
  const PlacedBlocks::Asked asked =
      placed_.ask(request.bytes, key.stream, key.tag, residency_.is_short(), residency_.sizes_vary());
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

// If memory runs out with a bundle or a planned place, the block alone may still fit.
Result<Address> BlockCache::allocate_slow(Request request, ThreadCache* cache) {
  request.in_bundle = belongs_in_bundle(request);
  auto served = serve(request, cache);
  if (served.status().code() != Code::kOutOfMemory) return served;
  request.in_bundle = false;
  request.spot = nullptr;
  TESSERA_TRY(trim_.trim());
  served = serve(request, cache);
  if (served.status().code() != Code::kOutOfMemory) return served;
  TESSERA_TRY(trim_.wait_and_trim());
  served = serve(request, cache);
  if (served.status().code() != Code::kOutOfMemory) return served;
  const BlockStats now = stats();
  return Status(Code::kOutOfMemory,
                fmt::format("{} bytes do not fit in addition to {} bytes in {} live blocks, and nothing "
                            "more can be freed: {}",
                            request.bytes.value(), now.live_bytes.value(), now.live_blocks, served.status().message()));
}

// Steps 2 to 5, once.
Result<Address> BlockCache::serve(const Request& request, ThreadCache* cache) {
  Address address;
  if (request.spot != nullptr) {
    TESSERA_TRY_ASSIGN(address, shared_.take_spot(request.key, *request.spot, placed_));
  }
  if (!address) address = take_shared(request, cache);
  if (!address) {
    TESSERA_TRY_ASSIGN(address, grow(request, cache));
  }
  const auto block = locate(pages_.find(address), address);
  const Status started = start(*block, request);
  if (!started.is_ok()) {
    shared_.put(address);
    return started;
  }
  counts_.note_allocation(cache, request.bytes, false);
  if (!request.key.size_class.is_slot()) burst_.note_served(block->run->address);
  return address;
}

// The burst is asked about all blocks that are not slots, even those that never go into bundles.
bool BlockCache::belongs_in_bundle(const Request& request) {
  if (request.key.size_class.is_slot()) return false;
  return burst_.ask(residency_.streams().epoch(), counts_.frees()) && Bundle::is_for(request.bytes);
}

// Steps 2 and 3.
Address BlockCache::take_shared(const Request& request, ThreadCache* cache) {
  const CacheKey& key = request.key;
  if (key.size_class.is_slot()) {
    SlotLine line;
    const std::size_t taken = shared_.take_slots(key, wanted(line, cache));
    return taken == 0 ? Address() : keep_rest(key, cache, std::span(line).first(taken));
  }
  if (const Address place = request.in_bundle ? shared_.take_place(key, request.bytes) : Address()) return place;
  return shared_.take_single(key);
}

// Step 4.
Result<Address> BlockCache::grow(const Request& request, ThreadCache* cache) {
  const CacheKey& key = request.key;
  if (request.in_bundle) return shared_.grow_place(key, request.bytes);
  if (!key.size_class.is_slot()) return shared_.grow_single(key);
  SlotLine line;
  std::size_t taken = 0;
  TESSERA_TRY_ASSIGN(taken, shared_.grow_slots(key, wanted(line, cache)));
  return keep_rest(key, cache, std::span(line).first(taken));
}

// Returns the first slot and puts the others into the thread's cache.
Address BlockCache::keep_rest(const CacheKey& key, ThreadCache* cache, std::span<const Address> slots) {
  if (slots.size() > 1) make_place(key, *cache);
  for (std::size_t i = slots.size(); i-- > 1;) {
    if (!cache->push(key, slots[i])) shared_.put(slots[i]);
  }
  return slots[0];
}

// Caches a freed block where the next request for it looks first.
void BlockCache::cache_freed(const LocatedBlock& block, Freed freed, ThreadCache* cache) {
  const StreamId freed_on = stream_key(freed.stream);
  CacheKey key{block.owner->size_class, freed_on, block.owner->tag};
  if (block.owner->kind == OwnerKind::kSlab) {
    key.stream = block.slab().stream;
    if (freed_on != key.stream && freed_on != kNoStream) return cache_late(block, freed);
  } else if (block.owner->kind == OwnerKind::kBundle) {
    if (freed_on != block.bundle().stream && freed_on != kNoStream) return cache_late(block, freed);
    cache = nullptr;  // requests for a place do not look in the thread's cache
  } else {
    SingleBlock& single = block.single();
    single.freed_on.store(freed_on, std::memory_order_relaxed);
    if (freed_on == kNoStream) key.stream = single.stream.load(std::memory_order_relaxed);
  }
  if (cache) {
    if (cache->push(key, block.address)) return;
    make_place(key, *cache);
    if (cache->push(key, block.address)) return trim_.shed();
  }
  shared_.put(block.address);
  trim_.shed();
}

void BlockCache::cache_late(const LocatedBlock& block, Freed freed) {
  StreamTable& streams = residency_.streams();
  const std::uint32_t slot = streams.slot_of(freed.stream);
  if (freed.stream == kPerThreadStream) {  // no other thread can record a fence on it
    const Status fenced = streams.fence_own(slot);
    if (!fenced.is_ok()) log_line(LogLevel::kDebug, "no fence: {}", fenced.to_string());
  }
  const Late late{std::uint64_t{1} << slot, freed.epoch};
  shared_.put_late(block, late);
}

// Moves the blocks that must make room for the key to the shared cache.
void BlockCache::make_place(const CacheKey& key, ThreadCache& cache) {
  std::array<Address, ThreadCache::kPerMagazine> out;
  std::size_t count = 0;
  cache.make_place(key, [&](Address address) { out[count++] = address; });
  shared_.put(std::span(out).first(count));
}

Status BlockCache::retire(StreamId stream) {
  const StreamId key = stream_key(stream);
  // A stream of another device must not get a slot: its last fence would be recorded on this device, which
  // cannot fence it.
  StreamTable& streams = residency_.streams();
  const std::uint64_t mask = streams.knows(stream) ? std::uint64_t{1} << streams.slot_of(stream) : 0;
  threads_.steal_all([this](Address address) { shared_.put(address); });
  shared_.retire(key, {mask, streams.open_epoch()});
  return streams.retire(stream);
}

Status BlockCache::free(Address address, StreamId stream) {
  std::optional<LocatedBlock> block;
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
  counts_.note_free(cache, block->capacity - ended->slack);
  const Epoch epoch = residency_.note_free(block->run, stream);
  if (block->owner->kind == OwnerKind::kSingle) {
    block->run->live.store(0, std::memory_order_release);
    residency_.fence_freed(stream);
  }
  cache_freed(*block, {stream, epoch}, cache);
  return Status::ok();
}

// Makes a block that is out of the caches live, with its bytes in place; on an error nothing has changed.
Status BlockCache::start(const LocatedBlock& block, const Request& request) {
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

BlockStats BlockCache::stats() const {
  BlockStats stats;
  counts_.sum_up(stats);
  shared_.sum_up(stats);
  stats.mappable_blocks = mappable_.blocks();
  return stats;
}

std::vector<TagUse> BlockCache::tags() const {
  std::map<TagId, TagUse> sums;
  const auto count = [&](const BlockOwner& owner, const BlockWord& word, Bytes capacity) {
    const BlockState state = word.read();
    if (!state.live) return;
    TagUse& use = sums[owner.tag];
    use.tag = owner.tag;
    ++use.live_blocks;
    use.live_bytes += capacity - state.slack;
  };
  shared_.for_each(count);
  mappable_.for_each([&](const MappableBlock& block) { count(block, block.word, block.size_class.bytes()); });
  std::vector<TagUse> uses;
  for (const auto& [tag, use] : sums) uses.push_back(use);
  return uses;
}

Status BlockCache::validate() const {
  std::unordered_map<const BlockOwner*, std::uint32_t> in_slabs;
  std::unordered_set<const BlockOwner*> singles;
  Status result;
  threads_.for_each([&](const ThreadCache& cache) {
    cache.for_each([&](Address address) {
      const auto block = locate(pages_.find(address), address);
      const bool fine = block && block->address == address && !block->word->read().live &&
                        (block->owner->kind == OwnerKind::kSlab ||
                         (block->owner->kind == OwnerKind::kSingle && singles.insert(block->owner).second));
      if (!fine) {
        result = Status(Code::kInternal, fmt::format("a thread's cache has {:#x}, which is not a free "
                                                     "block, or is cached twice",
                                                     address.value()));
      } else if (block->owner->kind == OwnerKind::kSlab) {
        ++in_slabs[block->owner];
      }
    });
  });
  TESSERA_TRY(result);
  TESSERA_TRY(shared_.validate(singles, [&](const Slab& slab) {
    const auto found = in_slabs.find(&slab);
    return found == in_slabs.end() ? 0 : found->second;
  }));
  const BlockStats now = stats();
  if (now.slot_pages + now.bundles + now.single_blocks + now.mappable_blocks != pages_.stats().runs) {
    return Status(
        Code::kInternal,
        fmt::format("{} pages of slots, {} bundles, {} single and {} mappable blocks, but {} runs", now.slot_pages,
                    now.bundles, now.single_blocks, now.mappable_blocks, pages_.stats().runs));
  }
  TagUse sum;
  for (const TagUse& use : tags()) {
    sum.live_blocks += use.live_blocks;
    sum.live_bytes += use.live_bytes;
  }
  if (sum.live_blocks != now.live_blocks || sum.live_bytes != now.live_bytes) {
    return Status(Code::kInternal,
                  fmt::format("{} bytes in {} live blocks, but {} in {} counted", sum.live_bytes.value(),
                              sum.live_blocks, now.live_bytes.value(), now.live_blocks));
  }
  return Status::ok();
}

}  // namespace tessera
