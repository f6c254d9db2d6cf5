// The slower steps of block_cache.hpp: shared caches, new runs, returning memory to the pages.
#include <array>

#include <fmt/format.h>

#include "base/log.hpp"
#include "block/block_cache.hpp"

namespace tessera {
namespace {

enum Pool : std::uint32_t { kSlabs, kSingles };  // bundles use the pool of singles, which are of similar size

constexpr Bytes kEverything{~std::uint64_t{0}};
// A miss fetches one line of slots, including the requested one; a thread without a cache fetches only that
// one.
using SlotLine = std::array<Address, Slab::kLineSlots>;
static_assert(ThreadCache::kPerMagazine >= Slab::kLineSlots, "or a part of the line goes to another thread");
std::span<Address> wanted(SlotLine& line, const ThreadCache* cache) {
  return std::span(line).first(cache ? line.size() : 1);
}

}  // namespace

// If memory runs out with a bundle or a planned place, the block alone may still fit.
Result<Address> BlockCache::allocate_slow(Request request, ThreadCache* cache) {
  request.in_bundle = belongs_in_bundle(request);
  auto served = serve(request, cache);
  if (served.status().code() != Code::kOutOfMemory) return served;
  request.in_bundle = false;
  request.spot = nullptr;
  TESSERA_TRY(trim());
  served = serve(request, cache);
  if (served.status().code() != Code::kOutOfMemory) return served;
  TESSERA_TRY(wait_for_cached());
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
    TESSERA_TRY_ASSIGN(address, serve_spot(request));
  }
  if (!address) address = take_shared(request, cache);
  if (!address) {
    TESSERA_TRY_ASSIGN(address, grow(request, cache));
  }
  const auto block = locate(pages_.find(address), address);
  const Status started = start(*block, request);
  if (!started.is_ok()) {
    put_shared(address);
    return started;
  }
  count_allocation(cache, request.bytes, false);
  if (!request.key.size_class.is_slot()) burst_.note_served(block->run->address);
  return address;
}

// Null if the place is still in use from the previous pass; the block then has a run of its own this time.
Result<Address> BlockCache::serve_spot(const Request& request) {
  const SharingKey key = request.key.sharing();
  if (const Address place = bundles_.take(*request.spot)) return place;
  if (!bundles_.has_planned(request.spot->run)) {
    const std::vector<Bytes> places = placed_.places_of(request.spot->run);
    if (places.empty()) return Address();
    auto bundle = std::make_unique<Bundle>(request.spot->run, places, key.stream, key.tag);
    TESSERA_TRY_ASSIGN(bundle->run, acquire_for(*bundle));
    bundles_.add(std::move(bundle));
    return bundles_.take(*request.spot);
  }
  if (!bundles_.has_late(key)) return Address();
  poll();
  bundles_.settle(key);
  return bundles_.take(*request.spot);
}

// The burst is asked about all blocks that are not slots, even those that never go into bundles.
bool BlockCache::belongs_in_bundle(const Request& request) {
  if (request.key.size_class.is_slot()) return false;
  return burst_.ask(residency_.streams().epoch(), frees()) && Bundle::is_for(request.bytes);
}

// Steps 2 and 3. Streams are polled only if something waits for them.
Address BlockCache::take_shared(const Request& request, ThreadCache* cache) {
  if (request.key.size_class.is_slot()) return take_slots_settled(request.key, cache);
  if (const Address place = request.in_bundle ? take_place_settled(request) : Address()) return place;
  SingleBlock* block = runs_.take(request.key);
  if (!block && runs_.has_other(request.key)) {
    poll();
    block = runs_.take_quiet(request.key);
  }
  return block ? block->run->address : Address();
}

Address BlockCache::take_slots_settled(const CacheKey& key, ThreadCache* cache) {
  if (const Address address = take_slots(key, cache)) return address;
  if (!slots_.has_late(key)) return {};
  poll();
  return slots_.settle(key) ? take_slots(key, cache) : Address();
}

Address BlockCache::take_place_settled(const Request& request) {
  const SharingKey key = request.key.sharing();
  if (const Address address = bundles_.take(key, request.bytes)) return address;
  if (!bundles_.has_late(key)) return {};
  poll();
  return bundles_.settle(key) ? bundles_.take(key, request.bytes) : Address();
}

void BlockCache::poll() {
  const Status polled = residency_.poll_streams();
  if (!polled.is_ok()) log_line(LogLevel::kDebug, "no fences: {}", polled.to_string());
}

Address BlockCache::take_slots(const CacheKey& key, ThreadCache* cache) {
  SlotLine line;
  const std::size_t taken = slots_.take(key, wanted(line, cache));
  return taken == 0 ? Address() : keep_rest(key, cache, std::span(line).first(taken));
}

// Returns the first slot and puts the others into the thread's cache.
Address BlockCache::keep_rest(const CacheKey& key, ThreadCache* cache, std::span<const Address> slots) {
  if (slots.size() > 1) make_place(key, *cache);
  for (std::size_t i = slots.size(); i-- > 1;) {
    if (!cache->push(key, slots[i])) put_shared(slots[i]);
  }
  return slots[0];
}

// Step 4.
Result<Address> BlockCache::grow(const Request& request, ThreadCache* cache) {
  const CacheKey& key = request.key;
  if (key.size_class.is_slot()) return grow_slots(key, cache);
  if (request.in_bundle) return grow_bundle(request);
  auto block = std::make_unique<SingleBlock>(key.size_class, key.tag);
  const Domain domain{kSingles, key.stream, key.tag};
  TESSERA_TRY_ASSIGN(block->run,
                     pages_.acquire(key.size_class.bytes(), domain, {block.get(), BlockWord::raw({&block->word, 1})}));
  return runs_.add(std::move(block))->run->address;
}

// Cuts a part of a page shared with other classes, or makes a new page.
Result<Address> BlockCache::grow_slots(const CacheKey& key, ThreadCache* cache) {
  SlotLine line;
  std::size_t taken = slot_pages_.cut(key, wanted(line, cache));
  if (taken == 0) {
    SlotPage page = slot_pages_.new_page(key);
    const Domain domain{kSlabs, key.stream, key.tag};
    TESSERA_TRY_ASSIGN(page.record().run, pages_.acquire(kBasePage, domain, page.owner()));
    taken = slot_pages_.add(std::move(page), key, wanted(line, cache));
  }
  return keep_rest(key, cache, std::span(line).first(taken));
}

Result<Address> BlockCache::grow_bundle(const Request& request) {
  const SharingKey key = request.key.sharing();
  auto bundle = std::make_unique<Bundle>(bundles_.bytes_for(key, request.bytes), key.stream, key.tag);
  TESSERA_TRY_ASSIGN(bundle->run, acquire_for(*bundle));
  return bundles_.add(std::move(bundle), request.bytes);
}

Result<Run*> BlockCache::acquire_for(Bundle& bundle) {
  const Domain domain{kSingles, bundle.stream, bundle.tag};
  RunOwner owner{&bundle, BlockWord::raw(bundle.words()), {}};
  if (bundle.planned) owner.name = Bundle::name_of(*bundle.planned);
  return pages_.acquire(bundle.bytes(), domain, owner);
}

// Caches a freed block where the next request for it looks first.
void BlockCache::cache_freed(const Located& block, Freed freed, ThreadCache* cache) {
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
    if (cache->push(key, block.address)) return shed();
  }
  put_shared(block.address);
  shed();
}

void BlockCache::cache_late(const Located& block, Freed freed) {
  StreamTable& streams = residency_.streams();
  const std::uint32_t slot = streams.slot_of(freed.stream);
  if (freed.stream == kPerThreadStream) {  // no other thread can record a fence on it
    const Status fenced = streams.fence_own(slot);
    if (!fenced.is_ok()) log_line(LogLevel::kDebug, "no fence: {}", fenced.to_string());
  }
  const Late late{std::uint64_t{1} << slot, freed.epoch};
  if (block.owner->kind == OwnerKind::kSlab) return slots_.give_late(block.slab(), block.address, late);
  bundles_.give_late(block.bundle(), block.address, late);
}

// Moves the blocks that must make room for the key to the shared cache.
void BlockCache::make_place(const CacheKey& key, ThreadCache& cache) {
  std::array<Address, ThreadCache::kPerMagazine> out;
  std::size_t count = 0;
  cache.make_place(key, [&](Address address) { out[count++] = address; });
  put_shared(std::span(out).first(count));
}

// REQUIRES: the blocks are free and in no cache; at most one magazine's worth.
void BlockCache::put_shared(std::span<const Address> addresses) {
  std::array<SlotCache::Place, ThreadCache::kPerMagazine> slots;
  std::size_t count = 0;
  for (const Address address : addresses) {
    const auto block = locate(pages_.find(address), address);
    if (block->owner->kind == OwnerKind::kSlab) {
      slots[count++] = {&block->slab(), address};
    } else if (block->owner->kind == OwnerKind::kBundle) {
      bundles_.give(block->bundle(), address);
    } else {
      runs_.put(block->single());
    }
  }
  slots_.give(std::span(slots).first(count));
}

Status BlockCache::trim() {
  MutexLock lock(give_back_mutex_);
  threads_.steal_all([this](Address address) { put_shared(address); });
  TESSERA_TRY(residency_.poll_streams());
  slots_.settle_all();
  bundles_.settle_all();
  return give_back(kEverything, true);
}

// Step 7. Removing a run waits for its uses; queued slots and places are waited for here.
Status BlockCache::wait_for_cached() {
  MutexLock lock(give_back_mutex_);
  threads_.steal_all([this](Address address) { put_shared(address); });
  TESSERA_TRY(residency_.poll_streams());
  Late late = slots_.latest();
  late.include(bundles_.latest());
  const Status waited = residency_.waits().wait(late.mask, late.epoch, StreamWaits::Bound::kPatience);
  if (!waited.is_ok() && waited.code() != Code::kNotReady) return waited;  // work that does not end keeps its blocks
  slots_.settle_all();
  bundles_.settle_all();
  return give_back(kEverything, false);
}

// A busy run stays: a call still uses a block that was freed meanwhile.
Status BlockCache::give_back(Bytes bytes, bool quiet) {
  Status result;
  const auto is_gone = [&](Run* run) {
    Status released = pages_.release(run);
    if (released.code() == Code::kBusy) return false;
    if (result.is_ok()) result = std::move(released);
    return true;
  };
  Bytes sum;
  for (auto& block : runs_.remove_cached(bytes, quiet)) {
    sum += block->size_class.bytes();
    if (!is_gone(block->run)) runs_.put(*runs_.add(std::move(block)));
  }
  if (sum >= bytes) return result;
  for (SlotPage& page : slot_pages_.remove_empty(bytes - sum, quiet)) {
    sum += kBasePage;
    if (!is_gone(page.run())) slot_pages_.put_back(std::move(page));
  }
  if (sum >= bytes) return result;
  for (auto& bundle : bundles_.remove_empty(bytes - sum, quiet)) {
    if (!is_gone(bundle->run)) bundles_.add(std::move(bundle));
  }
  return result;
}

// Keeps the shared caches below their limit as far as possible without waiting.
void BlockCache::shed() {
  const Bytes cached = runs_.cached_bytes() + slot_pages_.empty_bytes() + bundles_.empty_bytes();
  if (cached <= options_.warm_limit) return;
  MutexLock lock(give_back_mutex_);
  Status shed = residency_.poll_streams();
  if (shed.is_ok()) shed = give_back(cached - options_.warm_limit, true);
  if (!shed.is_ok()) log_line(LogLevel::kDebug, "cached blocks are kept: {}", shed.to_string());
}

Status BlockCache::retire(StreamId stream) {
  const StreamId key = stream_key(stream);
  // A stream of another device must not get a slot: its last fence would be recorded on this device, which
  // cannot fence it.
  StreamTable& streams = residency_.streams();
  const std::uint64_t mask = streams.knows(stream) ? std::uint64_t{1} << streams.slot_of(stream) : 0;
  threads_.steal_all([this](Address address) { put_shared(address); });
  const Late late{mask, streams.open_epoch()};
  slots_.retire(key, late);
  bundles_.retire(key, late);
  runs_.retire(key);
  return streams.retire(stream);
}

}  // namespace tessera
