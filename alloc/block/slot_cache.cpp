#include "block/slot_cache.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tessera {

std::uint32_t SlotCache::slot_of(const Slab& slab, Address address) {
  return slab.slot_at(address - slab.run->address).value_or(0);
}

std::size_t SlotCache::take(const CacheKey& key, std::span<Address> out) {
  MutexLock lock(mutex_);
  const auto found = homes_.find(key);
  if (found == homes_.end()) return 0;
  auto& with_free = found->second.with_free;
  if (with_free.empty()) return 0;
  Slab& slab = **with_free.begin();
  const std::size_t taken = take_line(slab, out);
  if (slab.free_slots() == 0) with_free.erase(with_free.begin());
  return taken;
}

// They count as live from here on, so that a thread that has them in its cache need not count.
std::size_t SlotCache::take_line(Slab& slab, std::span<Address> out) {
  if (slab.is_empty()) --empty_;
  std::array<std::uint32_t, Slab::kLineSlots> slots;
  const std::size_t taken = slab.take_line(std::span(slots).first(std::min(out.size(), slots.size())));
  for (std::size_t i = 0; i < taken; ++i) out[i] = slab.address(slots[i]);
  Run& run = *slab.run;
  if (run.live.fetch_add(static_cast<std::uint32_t>(taken)) == 0) {
    run.fresh.store(true, std::memory_order_relaxed);
  }
  return taken;
}

bool SlotCache::has_late(const CacheKey& key) const {
  MutexLock lock(mutex_);
  const auto found = homes_.find(key);
  return found != homes_.end() && !found->second.late.empty();
}

bool SlotCache::settle(const CacheKey& key) {
  MutexLock lock(mutex_);
  const auto found = homes_.find(key);
  if (found == homes_.end() || found->second.late.empty()) return false;
  settle_home(found->second);
  return true;
}

void SlotCache::settle_all() {
  MutexLock lock(mutex_);
  for (auto& [key, home] : homes_) settle_home(home);
}

// The whole line is looked at: a stream that never ends must not hold up the others.
void SlotCache::settle_home(Home& home) {
  std::erase_if(home.late, [&](const LateSlot& late) NO_THREAD_SAFETY_ANALYSIS {
    if (!streams_.passed(late.mask, late.epoch)) return false;
    free_slot(home, *late.slab, late.slot);
    return true;
  });
}

void SlotCache::free_slot(Home& home, Slab& slab, std::uint32_t slot) {
  if (slab.free_slots() == 0) home.with_free.insert(&slab);
  slab.give(slot);
  if (slab.is_empty()) ++empty_;
}

void SlotCache::give(Slab& slab, Address address) {
  MutexLock lock(mutex_);
  slab.run->live.fetch_sub(1);
  free_slot(homes_[key_of(slab)], slab, slot_of(slab, address));
}

void SlotCache::give_late(Slab& slab, Address address, std::uint64_t mask, std::uint64_t epoch) {
  MutexLock lock(mutex_);
  slab.run->live.fetch_sub(1);
  homes_[key_of(slab)].late.push_back({&slab, slot_of(slab, address), mask, epoch});
}

void SlotCache::retire(StreamId stream, std::uint64_t mask, std::uint64_t epoch) {
  MutexLock lock(mutex_);
  for (auto& [key, home] : homes_) {
    if (key.stream != stream) continue;
    for (Slab* const slab : home.with_free) {
      if (slab->is_empty()) --empty_;
      std::uint32_t slot = 0;
      while (slab->free_slots() > 0) {
        slab->take_line({&slot, 1});
        home.late.push_back({slab, slot, mask, epoch});
      }
    }
    home.with_free.clear();
  }
}

std::size_t SlotCache::add(std::unique_ptr<Slab> slab, std::span<Address> out) {
  MutexLock lock(mutex_);
  ++empty_;
  const std::size_t taken = out.empty() ? 0 : take_line(*slab, out);
  if (slab->free_slots() > 0) homes_[key_of(*slab)].with_free.insert(slab.get());
  const Slab* const key = slab.get();
  slabs_.emplace(key, std::move(slab));
  return taken;
}

std::unique_ptr<Slab> SlotCache::detach(Slab& slab) {
  const auto home = homes_.find(key_of(slab));
  home->second.with_free.erase(&slab);
  if (home->second.with_free.empty() && home->second.late.empty()) homes_.erase(home);
  --empty_;
  return std::move(slabs_.extract(&slab).mapped());
}

std::vector<std::unique_ptr<Slab>> SlotCache::remove_empty(Bytes bytes, bool quiet) {
  MutexLock lock(mutex_);
  std::vector<std::unique_ptr<Slab>> removed;
  if (empty_ == 0) return removed;
  std::vector<Slab*> empty;
  for (const auto& [key, home] : homes_) {
    for (Slab* const slab : home.with_free) {
      if (kBasePage * empty.size() >= bytes) break;
      if (!slab->is_empty()) continue;
      if (quiet && !streams_.passed(slab->run->streams.load(), slab->run->last_work())) continue;
      empty.push_back(slab);
    }
  }
  removed.reserve(empty.size());
  for (Slab* const slab : empty) removed.push_back(detach(*slab));
  return removed;
}

SlotCache::Late SlotCache::latest() const {
  MutexLock lock(mutex_);
  Late latest;
  for (const auto& [key, home] : homes_) {
    for (const LateSlot& late : home.late) {
      latest.mask |= late.mask;
      latest.epoch = std::max(latest.epoch, late.epoch);
    }
  }
  return latest;
}

Bytes SlotCache::empty_bytes() const {
  MutexLock lock(mutex_);
  return kBasePage * empty_;
}

std::uint64_t SlotCache::slabs() const {
  MutexLock lock(mutex_);
  return slabs_.size();
}

void SlotCache::for_each(const std::function<void(const Slab&)>& see) const {
  MutexLock lock(mutex_);
  for (const auto& [key, slab] : slabs_) see(*slab);
}

std::vector<std::unique_ptr<Slab>> SlotCache::remove_all() {
  MutexLock lock(mutex_);
  std::vector<std::unique_ptr<Slab>> removed;
  for (auto& [key, slab] : slabs_) removed.push_back(std::move(slab));
  slabs_.clear();
  homes_.clear();
  empty_ = 0;
  return removed;
}

Status SlotCache::validate(const std::function<std::uint32_t(const Slab&)>& cached) const {
  MutexLock lock(mutex_);
  std::unordered_map<const Slab*, std::uint32_t> late;
  for (const auto& [key, home] : homes_) {
    for (const LateSlot& slot : home.late) ++late[slot.slab];
    for (const Slab* const slab : home.with_free) {
      if (key_of(*slab) != key || slab->free_slots() == 0) {
        return Status(Code::kInternal, "a slab is listed in a domain that is not its own, or full");
      }
    }
  }
  std::uint64_t empty = 0;
  for (const auto& [key, slab] : slabs_) {
    TESSERA_TRY(slab->validate());
    std::uint32_t live = 0;
    for (std::uint32_t i = 0; i < slab->slots(); ++i) live += slab->word(i).read().live ? 1u : 0u;
    const std::uint32_t elsewhere = late[key] + cached(*key);
    if (live + slab->free_slots() + elsewhere != slab->slots() ||
        live + cached(*key) != slab->run->live.load()) {
      return Status(Code::kInternal,
                    fmt::format("a slab of {} slots has {} live ({} counted), {} free, {} elsewhere",
                                slab->slots(), live, slab->run->live.load(), slab->free_slots(),
                                elsewhere));
    }
    empty += slab->is_empty() ? 1 : 0;
  }
  if (empty != empty_) return Status(Code::kInternal, "empty slabs do not add up");
  return Status::ok();
}

}  // namespace tessera
