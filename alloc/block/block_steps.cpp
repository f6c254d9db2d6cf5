// The slower steps of block_cache.hpp: shared caches, new runs, giving back.
#include <array>

#include <fmt/format.h>

#include "base/log.hpp"
#include "block/block_cache.hpp"

namespace tessera {
namespace {

enum Pool : std::uint32_t { kSlabs, kSingles };  // wide slabs are among the singles, as long as they are

constexpr Bytes kEverything{~std::uint64_t{0}};
// A miss brings one line of slots, the one asked for included; a thread without a cache gets just that.
using SlotLine = std::array<Address, Slab::kLineSlots>;
static_assert(ThreadCache::kPerMagazine >= Slab::kLineSlots, "or a part of the line goes to another thread");
std::span<Address> wanted(SlotLine& line, const ThreadCache* cache) {
  return std::span(line).first(cache ? line.size() : 1);
}

}  // namespace

// What memory is left may do for the block, and not for a slab of several.
Result<Address> BlockCache::allocate_slow(Request request, ThreadCache* cache) {
  request.wide = wide_key(request);
  auto served = serve(request, cache);
  if (served.status().code() != Code::kOutOfMemory) return served;
  request.wide.reset();
  TESSERA_TRY(trim());
  served = serve(request, cache);
  if (served.status().code() != Code::kOutOfMemory) return served;
  TESSERA_TRY(wait_for_cached());
  served = serve(request, cache);
  if (served.status().code() != Code::kOutOfMemory) return served;
  const BlockStats now = stats();
  return Status(Code::kOutOfMemory,
                fmt::format("{} bytes do not fit beside {} bytes in {} live blocks, and nothing is "
                            "left to give back: {}",
                            request.bytes.value(), now.live_bytes.value(), now.live_blocks,
                            served.status().message()));
}

// Steps 2 to 5, once.
Result<Address> BlockCache::serve(const Request& request, ThreadCache* cache) {
  Address address = take_shared(request, cache);
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

std::optional<CacheKey> BlockCache::wide_key(const Request& request) {
  if (request.key.size_class.is_slot()) return std::nullopt;
  if (!burst_.ask(residency_.streams().epoch(), frees())) return std::nullopt;
  const auto wide = wide_class_for(request.bytes);
  return wide ? std::optional(CacheKey{*wide, request.key.stream, request.key.tag}) : std::nullopt;
}

// Steps 2 and 3. Fences are asked for only when something waits for them.
Address BlockCache::take_shared(const Request& request, ThreadCache* cache) {
  if (request.key.size_class.is_slot()) return take_slots_settled(request.key, cache);
  if (const Address slot = request.wide ? take_slots_settled(*request.wide, cache) : Address()) return slot;
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

void BlockCache::poll() {
  const Status polled = residency_.poll_streams();
  if (!polled.is_ok()) log_line(LogLevel::kDebug, "no fences: {}", polled.to_string());
}

Address BlockCache::take_slots(const CacheKey& key, ThreadCache* cache) {
  SlotLine line;
  const std::size_t taken = slots_.take(key, wanted(line, cache));
  return taken == 0 ? Address() : keep_rest(key, cache, std::span(line).first(taken));
}

// The first is returned, the others wait in the thread's cache.
Address BlockCache::keep_rest(const CacheKey& key, ThreadCache* cache,
                              std::span<const Address> slots) {
  if (slots.size() > 1) make_place(key, *cache);
  for (std::size_t i = slots.size(); i-- > 1;) {
    if (!cache->push(key, slots[i])) put_shared(slots[i]);
  }
  return slots[0];
}

// Step 4.
Result<Address> BlockCache::grow(const Request& request, ThreadCache* cache) {
  const CacheKey& key = request.key;
  if (key.size_class.is_slot()) {
    return grow_slab(std::make_unique<Slab>(key.size_class, key.stream, key.tag), cache);
  }
  if (request.wide) {
    const auto live = static_cast<std::uint64_t>(std::max(live_bytes(), std::int64_t{0}));
    const std::uint32_t slots = burst_.take_more(*request.wide, Bytes(live));
    const SizeClass wide = request.wide->size_class;
    if (slots > 1) return grow_slab(std::make_unique<Slab>(wide, slots, key.stream, key.tag), cache);
  }
  auto block = std::make_unique<SingleBlock>(key.size_class, key.tag);
  const Domain domain{kSingles, key.stream, key.tag};
  TESSERA_TRY_ASSIGN(block->run, pages_.acquire(key.size_class.bytes(), domain,
                                                {block.get(), BlockWord::raw({&block->word, 1})}));
  return runs_.add(std::move(block))->run->address;
}

Result<Address> BlockCache::grow_slab(std::unique_ptr<Slab> slab, ThreadCache* cache) {
  const CacheKey key{slab->size_class, slab->stream, slab->tag};
  const Domain domain{key.size_class.is_wide() ? kSingles : kSlabs, key.stream, key.tag};
  TESSERA_TRY_ASSIGN(slab->run, pages_.acquire(slab->bytes(), domain, {slab.get(), BlockWord::raw(slab->words())}));
  SlotLine line;
  const std::size_t taken = slots_.add(std::move(slab), wanted(line, cache));
  return keep_rest(key, cache, std::span(line).first(taken));
}

// A block that was just freed goes where the next request for it will look first.
void BlockCache::cache_freed(const Located& block, Freed freed, ThreadCache* cache) {
  const StreamId freed_on = stream_key(freed.stream);
  CacheKey key{block.owner->size_class, freed_on, block.owner->tag};
  if (block.owner->kind == OwnerKind::kSlab) {
    key.stream = block.slab().stream;
    if (freed_on != key.stream && freed_on != kNoStream) return cache_late(block, freed);
  } else {
    SingleBlock& single = block.single();
    single.freed_on.store(freed_on, std::memory_order_relaxed);
    if (freed_on == kNoStream) key.stream = single.stream.load(std::memory_order_relaxed);
  }
  if (cache && !key.size_class.is_wide()) {  // who asks for a wide slot does not look in the thread's cache
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
  if (freed.stream == kPerThreadStream) {  // nobody else can fence it
    const Status fenced = streams.fence_own(slot);
    if (!fenced.is_ok()) log_line(LogLevel::kDebug, "no fence: {}", fenced.to_string());
  }
  slots_.give_late(block.slab(), block.address, std::uint64_t{1} << slot, freed.epoch);
}

// What has to go for the key goes to the shared cache at once.
void BlockCache::make_place(const CacheKey& key, ThreadCache& cache) {
  std::array<Address, ThreadCache::kPerMagazine> out;
  std::size_t count = 0;
  cache.make_place(key, [&](Address address) { out[count++] = address; });
  put_shared(std::span(out).first(count));
}

// REQUIRES: the blocks are free and in no cache; what one magazine held, at most.
void BlockCache::put_shared(std::span<const Address> addresses) {
  std::array<SlotCache::Place, ThreadCache::kPerMagazine> slots;
  std::size_t count = 0;
  for (const Address address : addresses) {
    const auto block = locate(pages_.find(address), address);
    if (block->owner->kind == OwnerKind::kSlab) {
      slots[count++] = {&block->slab(), address};
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
  return give_back(kEverything, true);
}

// Step 7. Removing a run waits for its uses; only slots in line are waited for here.
Status BlockCache::wait_for_cached() {
  MutexLock lock(give_back_mutex_);
  threads_.steal_all([this](Address address) { put_shared(address); });
  TESSERA_TRY(residency_.poll_streams());
  const SlotCache::Late late = slots_.latest();
  TESSERA_TRY(residency_.streams().wait(late.mask, late.epoch));
  slots_.settle_all();
  return give_back(kEverything, false);
}

// A run that is busy stays: some call still uses a block that was freed under it.
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
  for (auto& slab : slots_.remove_empty(bytes - sum, quiet)) {
    if (!is_gone(slab->run)) slots_.add(std::move(slab));
  }
  return result;
}

// Keeps the shared caches under their limit, as far as that needs no waiting.
void BlockCache::shed() {
  const Bytes cached = runs_.cached_bytes() + slots_.empty_bytes();
  if (cached <= options_.warm_limit) return;
  MutexLock lock(give_back_mutex_);
  Status shed = residency_.poll_streams();
  if (shed.is_ok()) shed = give_back(cached - options_.warm_limit, true);
  if (!shed.is_ok()) log_line(LogLevel::kDebug, "cached blocks stay: {}", shed.to_string());
}

Status BlockCache::retire(StreamId stream) {
  const StreamId key = stream_key(stream);
  const std::uint64_t mask = std::uint64_t{1} << residency_.streams().slot_of(stream);
  threads_.steal_all([this](Address address) { put_shared(address); });
  slots_.retire(key, mask, residency_.streams().open_epoch());
  runs_.retire(key);
  return residency_.streams().retire(stream);
}

}  // namespace tessera
