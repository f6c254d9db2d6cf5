#include "block/shared_cache.hpp"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "block/thread_cache.hpp"

namespace tessera {
namespace {

enum Pool : std::uint32_t { kSlabs, kSingles };  // bundles use the pool of singles, which are of similar size

}  // namespace

SharedCache::SharedCache(Residency& residency, PageManager& pages, Bytes bundle_limit)
    : residency_(residency),
      pages_(pages),
      slots_(residency.streams()),
      slot_pages_(residency.streams(), slots_),
      bundles_(residency.streams(), bundle_limit),
      runs_(residency.streams()) {}

void SharedCache::poll() {
  const Status polled = residency_.poll_streams();
  if (!polled.is_ok()) log_line(LogLevel::kDebug, "no fences: {}", polled.to_string());
}

// ---- steps 2 and 3 ------------------------------------------------------------------------------

std::size_t SharedCache::take_slots(const CacheKey& key, std::span<Address> out) {
  if (const std::size_t taken = slots_.take(key, out); taken != 0) return taken;
  if (!slots_.has_late(key)) return 0;
  poll();
  return slots_.settle(key) ? slots_.take(key, out) : 0;
}

Address SharedCache::take_place(const CacheKey& key, Bytes bytes) {
  const SharingKey sharing = key.sharing();
  if (const Address address = bundles_.take(sharing, bytes)) return address;
  if (!bundles_.has_late(sharing)) return {};
  poll();
  return bundles_.settle(sharing) ? bundles_.take(sharing, bytes) : Address();
}

Address SharedCache::take_single(const CacheKey& key) {
  SingleBlock* block = runs_.take(key);
  if (!block && runs_.has_other(key)) {
    poll();
    block = runs_.take_quiet(key);
  }
  return block ? block->run->address : Address();
}

Result<Address> SharedCache::take_spot(const CacheKey& key, const Spot& spot, const PlacedBlocks& placed) {
  const SharingKey sharing = key.sharing();
  if (const Address place = bundles_.take(spot)) return place;
  if (!bundles_.has_planned(spot.run)) {
    const std::vector<Bytes> places = placed.places_of(spot.run);
    if (places.empty()) return Address();
    auto bundle = std::make_unique<Bundle>(spot.run, places, sharing.stream, sharing.tag);
    TESSERA_TRY_ASSIGN(bundle->run, acquire_for(*bundle));
    bundles_.add(std::move(bundle));
    return bundles_.take(spot);
  }
  if (!bundles_.has_late(sharing)) return Address();
  poll();
  bundles_.settle(sharing);
  return bundles_.take(spot);
}

// ---- step 4 -------------------------------------------------------------------------------------

Result<std::size_t> SharedCache::grow_slots(const CacheKey& key, std::span<Address> out) {
  if (const std::size_t taken = slot_pages_.cut(key, out); taken != 0) return taken;
  SlotPage page = slot_pages_.new_page(key);
  const Domain domain{kSlabs, key.stream, key.tag};
  TESSERA_TRY_ASSIGN(page.record().run, pages_.acquire(kBasePage, domain, page.owner()));
  return slot_pages_.add(std::move(page), key, out);
}

Result<Address> SharedCache::grow_place(const CacheKey& key, Bytes bytes) {
  const SharingKey sharing = key.sharing();
  auto bundle = std::make_unique<Bundle>(bundles_.bytes_for(sharing, bytes), sharing.stream, sharing.tag);
  TESSERA_TRY_ASSIGN(bundle->run, acquire_for(*bundle));
  return bundles_.add(std::move(bundle), bytes);
}

Result<Address> SharedCache::grow_single(const CacheKey& key) {
  auto block = std::make_unique<SingleBlock>(key.size_class, key.tag);
  const Domain domain{kSingles, key.stream, key.tag};
  TESSERA_TRY_ASSIGN(block->run,
                     pages_.acquire(key.size_class.bytes(), domain, {block.get(), BlockWord::raw({&block->word, 1})}));
  return runs_.add(std::move(block))->run->address;
}

Result<Run*> SharedCache::acquire_for(Bundle& bundle) {
  const Domain domain{kSingles, bundle.stream, bundle.tag};
  RunOwner owner{&bundle, BlockWord::raw(bundle.words()), {}};
  if (bundle.planned) owner.name = Bundle::name_of(*bundle.planned);
  return pages_.acquire(bundle.bytes(), domain, owner);
}

// ---- freed blocks -------------------------------------------------------------------------------

void SharedCache::put(std::span<const Address> addresses) {
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

void SharedCache::put_late(const LocatedBlock& block, Late late) {
  if (block.owner->kind == OwnerKind::kSlab) return slots_.give_late(block.slab(), block.address, late);
  bundles_.give_late(block.bundle(), block.address, late);
}

void SharedCache::retire(StreamId stream, Late late) {
  slots_.retire(stream, late);
  bundles_.retire(stream, late);
  runs_.retire(stream);
}

// ---- giving back --------------------------------------------------------------------------------

void SharedCache::settle_all() {
  slots_.settle_all();
  bundles_.settle_all();
}

Late SharedCache::latest() const {
  Late late = slots_.latest();
  late.include(bundles_.latest());
  return late;
}

// A busy run stays: a call still uses a block that was freed meanwhile.
Status SharedCache::give_back(Bytes bytes, bool quiet) {
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

void SharedCache::remove_all(const std::function<void(Run*)>& release) {
  for (const auto& block : runs_.remove_all()) release(block->run);
  for (const SlotPage& page : slot_pages_.remove_all()) release(page.run());
  for (const auto& bundle : bundles_.remove_all()) release(bundle->run);
}

// ---- inspection ---------------------------------------------------------------------------------

Bytes SharedCache::cached_bytes() const {
  return runs_.cached_bytes() + slot_pages_.empty_bytes() + bundles_.empty_bytes();
}

void SharedCache::sum_up(BlockStats& stats) const {
  stats.cached_bytes = cached_bytes();
  stats.slot_pages = slot_pages_.pages();
  stats.bundles = bundles_.bundles();
  stats.single_blocks = runs_.blocks();
}

void SharedCache::for_each(const std::function<void(const BlockOwner&, const BlockWord&, Bytes capacity)>& see) const {
  runs_.for_each([&](const SingleBlock& block) { see(block, block.word, block.size_class.bytes()); });
  slots_.for_each([&](const Slab& slab) {
    for (std::uint32_t slot = 0; slot < slab.slots(); ++slot) see(slab, slab.word(slot), slab.size_class.bytes());
  });
  bundles_.for_each([&](const Bundle& bundle) {
    for (std::uint32_t place = 0; place < bundle.places(); ++place) {
      see(bundle, bundle.word(place), bundle.capacity(place));
    }
  });
}

Status SharedCache::validate(const std::unordered_set<const BlockOwner*>& singles,
                             const std::function<std::uint32_t(const Slab&)>& slots) const {
  TESSERA_TRY(runs_.validate(singles));
  TESSERA_TRY(slots_.validate(slots));
  TESSERA_TRY(slot_pages_.validate());
  return bundles_.validate();
}

}  // namespace tessera
