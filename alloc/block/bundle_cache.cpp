#include "block/bundle_cache.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace tessera {

Address BundleCache::take(const SharingKey& key, Bytes block) {
  MutexLock lock(mutex_);
  const auto found = homes_.find(key);
  if (found == homes_.end()) return {};
  Home& home = found->second;
  const Bytes bytes = Bundle::place_bytes(block);
  const auto free = home.free.lower_bound({bytes, {}, nullptr});
  if (free != home.free.end() && free->bytes <= bytes + bytes / 16) {
    const Gap gap = *free;
    home.free.erase(free);
    take_place(*gap.bundle);
    gap.bundle->take(place_of(*gap.bundle, gap.address));
    return gap.address;
  }
  const auto room = home.rooms.lower_bound({bytes, {}, nullptr});
  return room == home.rooms.end() ? Address() : append(home, *room->bundle, block);
}

Address BundleCache::take(Spot spot) {
  MutexLock lock(mutex_);
  const auto found = planned_.find(spot.run);
  if (found == planned_.end() || !found->second->is_free(spot.place)) return {};
  Bundle& bundle = *found->second;
  take_place(bundle);
  bundle.take(spot.place);
  return bundle.address(spot.place);
}

bool BundleCache::has_planned(std::uint32_t number) const {
  MutexLock lock(mutex_);
  return planned_.contains(number);
}

Address BundleCache::append(Home& home, Bundle& bundle, Bytes block) {
  home.rooms.erase(room_gap(bundle));
  take_place(bundle);
  const std::uint32_t place = bundle.append(Bundle::place_bytes(block));
  list_room(home, bundle);
  return bundle.address(place);
}

void BundleCache::list_room(Home& home, Bundle& bundle) {
  if (offers_room(bundle)) home.rooms.insert(room_gap(bundle));
}

// From here on the place counts as live, before its word is, so that the bundle is not removed.
void BundleCache::take_place(Bundle& bundle) {
  if (bundle.is_empty()) empty_ -= bundle.bytes().value();
  if (bundle.run->live.fetch_add(1) == 0) bundle.run->fresh.store(true, std::memory_order_relaxed);
}

void BundleCache::free_place(Home& home, Bundle& bundle, std::uint32_t place) {
  bundle.give(place);
  if (!bundle.planned) home.free.insert(free_gap(bundle, place));
  if (bundle.is_empty()) empty_ += bundle.bytes().value();
}

bool BundleCache::has_late(const SharingKey& key) const {
  MutexLock lock(mutex_);
  const auto found = homes_.find(key);
  return found != homes_.end() && !found->second.late.empty();
}

bool BundleCache::settle(const SharingKey& key) {
  MutexLock lock(mutex_);
  const auto found = homes_.find(key);
  if (found == homes_.end() || found->second.late.empty()) return false;
  settle_home(found->second);
  return true;
}

void BundleCache::settle_all() {
  MutexLock lock(mutex_);
  for (auto& [key, home] : homes_) settle_home(home);
}

// Scans the whole queue: a stream that never completes must not block the others.
void BundleCache::settle_home(Home& home) {
  std::erase_if(home.late, [&](const LatePlace& place) NO_THREAD_SAFETY_ANALYSIS {
    if (!streams_.passed(place.late.mask, place.late.epoch)) return false;
    free_place(home, *place.bundle, place.place);
    return true;
  });
}

Bytes BundleCache::bytes_for(const SharingKey& key, Bytes block) const {
  MutexLock lock(mutex_);
  const auto found = homes_.find(key);
  const Bytes held = found == homes_.end() ? Bytes() : found->second.bytes - found->second.planned;
  return Bundle::bytes_for(block, std::min(limit_, 2 * held));
}

void BundleCache::give(Bundle& bundle, Address address) {
  MutexLock lock(mutex_);
  bundle.run->live.fetch_sub(1);
  free_place(homes_[key_of(bundle)], bundle, place_of(bundle, address));
}

void BundleCache::give_late(Bundle& bundle, Address address, Late late) {
  MutexLock lock(mutex_);
  bundle.run->live.fetch_sub(1);
  homes_[key_of(bundle)].late.push_back({&bundle, place_of(bundle, address), late});
}

void BundleCache::retire(StreamId stream, Late late) {
  MutexLock lock(mutex_);
  for (auto& [key, home] : homes_) {
    if (key.stream != stream) continue;
    home.free.clear();
    for (const auto& [known, bundle] : bundles_) {
      if (key_of(*bundle) != key) continue;
      if (bundle->is_empty()) empty_ -= bundle->bytes().value();
      for (std::uint32_t place = 0; place < bundle->places(); ++place) {
        if (!bundle->is_free(place)) continue;
        bundle->take(place);
        home.late.push_back({bundle.get(), place, late});
      }
    }
  }
}

BundleCache::Home& BundleCache::adopt(std::unique_ptr<Bundle> bundle) {
  Home& home = homes_[key_of(*bundle)];
  home.bytes += bundle->bytes();
  if (bundle->planned) {
    home.planned += bundle->bytes();
    planned_.try_emplace(*bundle->planned, bundle.get());
  }
  empty_ += bundle->bytes().value();
  const Bundle* const known = bundle.get();
  bundles_.emplace(known, std::move(bundle));
  return home;
}

Address BundleCache::add(std::unique_ptr<Bundle> bundle, Bytes block) {
  MutexLock lock(mutex_);
  Bundle& added = *bundle;
  return append(adopt(std::move(bundle)), added, block);
}

void BundleCache::add(std::unique_ptr<Bundle> bundle) {
  MutexLock lock(mutex_);
  Bundle& added = *bundle;
  Home& home = adopt(std::move(bundle));
  if (added.planned) return;
  for (std::uint32_t place = 0; place < added.places(); ++place) home.free.insert(free_gap(added, place));
  list_room(home, added);
}

std::unique_ptr<Bundle> BundleCache::detach(Bundle& bundle) {
  const auto home = homes_.find(key_of(bundle));
  for (std::uint32_t place = 0; place < bundle.places(); ++place) home->second.free.erase(free_gap(bundle, place));
  home->second.rooms.erase(room_gap(bundle));
  home->second.bytes -= bundle.bytes();
  if (bundle.planned) {
    home->second.planned -= bundle.bytes();
    if (planned_.at(*bundle.planned) == &bundle) planned_.erase(*bundle.planned);
  }
  if (!home->second.bytes) homes_.erase(home);
  empty_ -= bundle.bytes().value();
  return std::move(bundles_.extract(&bundle).mapped());
}

std::vector<std::unique_ptr<Bundle>> BundleCache::remove_empty(Bytes bytes, bool quiet) {
  std::vector<std::unique_ptr<Bundle>> removed;
  if (empty_.load() == 0) return removed;
  MutexLock lock(mutex_);
  std::vector<Bundle*> empty;
  Bytes sum;
  for (const auto& [key, bundle] : bundles_) {
    if (sum >= bytes) break;
    if (!bundle->is_empty()) continue;
    if (quiet && !streams_.passed(bundle->run->streams.load(), bundle->run->last_work())) continue;
    empty.push_back(bundle.get());
    sum += bundle->bytes();
  }
  for (Bundle* const bundle : empty) removed.push_back(detach(*bundle));
  return removed;
}

Late BundleCache::latest() const {
  Late latest;
  MutexLock lock(mutex_);
  for (const auto& [key, home] : homes_) {
    for (const LatePlace& place : home.late) latest.include(place.late);
  }
  return latest;
}

std::uint64_t BundleCache::bundles() const {
  MutexLock lock(mutex_);
  return bundles_.size();
}

void BundleCache::for_each(const std::function<void(const Bundle&)>& see) const {
  MutexLock lock(mutex_);
  for (const auto& [key, bundle] : bundles_) see(*bundle);
}

std::vector<std::unique_ptr<Bundle>> BundleCache::remove_all() {
  MutexLock lock(mutex_);
  std::vector<std::unique_ptr<Bundle>> removed;
  for (auto& [key, bundle] : bundles_) removed.push_back(std::move(bundle));
  bundles_.clear();
  planned_.clear();
  homes_.clear();
  empty_ = 0;
  return removed;
}

Status BundleCache::validate() const {
  MutexLock lock(mutex_);
  Bytes empty;
  std::map<SharingKey, Bytes> bytes;
  std::size_t places = 0, gaps = 0;
  for (const auto& [known, bundle] : bundles_) {
    const auto home = homes_.find(key_of(*bundle));
    if (home == homes_.end()) return Status(Code::kInternal, "a bundle has an unknown domain");
    TESSERA_TRY(validate_bundle(*bundle, home->second));
    bytes[key_of(*bundle)] += bundle->bytes();
    if (bundle->is_empty()) empty += bundle->bytes();
    if (bundle->planned) continue;
    for (std::uint32_t place = 0; place < bundle->places(); ++place) places += bundle->is_free(place) ? 1 : 0;
    places += offers_room(*bundle) ? 1 : 0;
  }
  for (const auto& [key, home] : homes_) {
    gaps += home.free.size() + home.rooms.size();
    if (home.bytes != bytes[key]) return Status(Code::kInternal, "the bundles of a domain do not add up");
  }
  if (empty != empty_bytes()) return Status(Code::kInternal, "empty bundles do not add up");
  if (places != gaps) return Status(Code::kInternal, fmt::format("{} of {} gaps are listed", gaps, places));
  return Status::ok();
}

Status BundleCache::validate_bundle(const Bundle& bundle, const Home& home) const {
  TESSERA_TRY(bundle.validate());
  const auto late = std::ranges::count_if(home.late, [&](const LatePlace& place) { return place.bundle == &bundle; });
  std::uint32_t live = 0, free = 0, listed = 0;
  for (std::uint32_t place = 0; place < bundle.places(); ++place) {
    live += bundle.word(place).read().live ? 1u : 0u;
    free += bundle.is_free(place) ? 1u : 0u;
    listed += home.free.contains({bundle.capacity(place), bundle.address(place), nullptr}) ? 1u : 0u;
  }
  const bool offered = home.rooms.contains({bundle.room(), bundle.room_at(), nullptr});
  const std::uint32_t counted = bundle.run->live.load();
  const bool adds_up = live + free + static_cast<std::uint32_t>(late) == bundle.places() && live == counted;
  if (!adds_up || listed != (bundle.planned ? 0 : free) || offered != offers_room(bundle)) {
    return Status(Code::kInternal,
                  fmt::format("a bundle of {} places has {} live ({} counted), {} free ({} listed), {} in line",
                              bundle.places(), live, counted, free, listed, late));
  }
  return Status::ok();
}

}  // namespace tessera
