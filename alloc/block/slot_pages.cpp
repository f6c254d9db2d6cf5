// Adds and removes the pages of slot_cache.hpp.
#include "block/slot_cache.hpp"

namespace tessera {

Bytes SlotCache::next_bytes(const CacheKey& key) const {
  const Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  const auto found = shard.homes.find(key);
  return SharedPage::part_bytes(key.size_class, found == shard.homes.end() ? Bytes() : found->second.bytes);
}

std::size_t SlotCache::cut(const CacheKey& key, std::span<Address> out) {
  const Bytes bytes = next_bytes(key);
  if (bytes == kBasePage) return 0;
  auto slab = shared_.cut(key, bytes);
  return slab ? add(std::move(slab), out) : 0;
}

SlotPage SlotCache::new_page(const CacheKey& key) const {
  SlotPage page;
  if (next_bytes(key) < kBasePage) {
    page.shared = std::make_unique<SharedPage>(key.stream, key.tag);
  } else {
    page.slabs.push_back(std::make_unique<Slab>(key.size_class, key.stream, key.tag));
  }
  return page;
}

// Cut before other threads see the page, so that the caller is sure to get a part.
std::size_t SlotCache::add(SlotPage page, const CacheKey& key, std::span<Address> out) {
  ++empty_;
  if (!page.shared) return add(std::move(page.slabs.front()), out);
  auto slab = page.shared->cut(key.size_class, next_bytes(key));
  shared_.add(std::move(page.shared));
  return add(std::move(slab), out);
}

std::size_t SlotCache::add(std::unique_ptr<Slab> slab, std::span<Address> out) {
  const CacheKey key = key_of(*slab);
  Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  Home& home = shard.homes[key];
  home.bytes += slab->bytes();
  const std::size_t taken = out.empty() ? 0 : take_line(*slab, out);
  if (slab->free_slots() > 0) home.with_free.insert(slab.get());
  const Slab* const known = slab.get();
  shard.slabs.emplace(known, std::move(slab));
  return taken;
}

std::unique_ptr<Slab> SlotCache::detach(Shard& shard, Slab& slab) {
  const auto home = shard.homes.find(key_of(slab));
  home->second.with_free.erase(&slab);
  home->second.bytes -= slab.bytes();
  if (!home->second.bytes) shard.homes.erase(home);
  return std::move(shard.slabs.extract(&slab).mapped());
}

bool SlotCache::is_idle(const Run& run, bool quiet) const {
  return !quiet || streams_.passed(run.streams.load(), run.last_work());
}

std::vector<SlotPage> SlotCache::remove_empty(Bytes bytes, bool quiet) {
  std::vector<SlotPage> removed;
  const auto suffices = [&](std::size_t more) { return kBasePage * (removed.size() + more) >= bytes; };
  for (Shard& shard : shards_) {
    if (empty_.load() <= 0 || suffices(0)) break;
    MutexLock lock(shard.mutex);
    std::vector<Slab*> empty;
    for (const auto& [key, home] : shard.homes) {
      for (Slab* const slab : home.with_free) {
        if (suffices(empty.size())) break;
        if (slab->page() == nullptr && slab->is_empty() && is_idle(*slab->run, quiet)) empty.push_back(slab);
      }
    }
    for (Slab* const slab : empty) {
      --empty_;
      removed.emplace_back().slabs.push_back(detach(shard, *slab));
    }
  }
  std::size_t chosen = 0;
  for (auto& shared : shared_.remove_if([&](const SharedPage& page) {
         return !suffices(chosen) && page.is_unused() && is_idle(*page.run, quiet) && ++chosen > 0;
       })) {
    SlotPage page{std::move(shared), {}};
    if (detach_slabs(page)) {
      --empty_;
      removed.push_back(std::move(page));
    } else {
      attach(std::move(page));
    }
  }
  return removed;
}

// Detaches all slabs. Returns false if a slot was taken meanwhile or a part is just being added to the cache;
// no more parts are cut then.
bool SlotCache::detach_slabs(SlotPage& page) {
  for (Slab* const slab : page.shared->slabs()) {
    Shard& shard = shard_of(key_of(*slab));
    MutexLock lock(shard.mutex);
    if (!shard.slabs.contains(slab) || !slab->is_empty()) return false;
    page.slabs.push_back(detach(shard, *slab));
  }
  return true;
}

void SlotCache::put_back(SlotPage page) {
  ++empty_;
  attach(std::move(page));
}

// Attaches those slabs of a shared page that were detached.
void SlotCache::attach(SlotPage page) {
  if (page.shared) shared_.add(std::move(page.shared));
  for (auto& slab : page.slabs) add(std::move(slab), {});
}

std::vector<SlotPage> SlotCache::remove_all() {
  std::vector<SlotPage> removed;
  std::unordered_map<const SharedPage*, std::size_t> places;  // in `removed`
  for (auto& shared : shared_.remove_if([](const SharedPage&) { return true; })) {
    places.emplace(shared.get(), removed.size());
    removed.push_back({std::move(shared), {}});
  }
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (auto& [key, slab] : shard.slabs) {
      SlotPage& page = slab->page() == nullptr ? removed.emplace_back() : removed[places.at(slab->page())];
      page.slabs.push_back(std::move(slab));
    }
    shard.slabs.clear();
    shard.homes.clear();
  }
  empty_ = 0;
  return removed;
}

}  // namespace tessera
