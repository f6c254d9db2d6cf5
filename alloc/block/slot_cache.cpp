#include "block/slot_cache.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace tessera {

std::uint32_t SlotCache::slot_of(const Slab& slab, Address address) {
  return slab.slot_at(address - slab.address(0)).value_or(0);
}

std::size_t SlotCache::take(const CacheKey& key, std::span<Address> out) {
  Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  const auto found = shard.homes.find(key);
  if (found == shard.homes.end()) return 0;
  auto& with_free = found->second.with_free;
  if (with_free.empty()) return 0;
  Slab& slab = **with_free.begin();
  const std::size_t taken = take_line(slab, out);
  if (slab.free_slots() == 0) {
    with_free.erase(with_free.begin());
  } else {
    relist(found->second, slab);
  }
  return taken;
}

// The slots count as live from here on, so that a thread with them in its cache need not count.
std::size_t SlotCache::take_line(Slab& slab, std::span<Address> out) {
  if (slab.is_empty()) empty_.note_used(slab);
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
  const Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  const auto found = shard.homes.find(key);
  return found != shard.homes.end() && !found->second.late.empty();
}

bool SlotCache::settle(const CacheKey& key) {
  Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  const auto found = shard.homes.find(key);
  if (found == shard.homes.end() || found->second.late.empty()) return false;
  settle_home(found->second);
  return true;
}

void SlotCache::settle_all() {
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (auto& [key, home] : shard.homes) settle_home(home);
  }
}

// Scans the whole queue: a stream that never completes must not block the others.
void SlotCache::settle_home(Home& home) {
  std::erase_if(home.late, [&](const LateSlot& slot) {
    if (!streams_.passed(slot.late.mask, slot.late.epoch)) return false;
    free_slot(home, *slot.slab, slot.slot);
    return true;
  });
}

void SlotCache::list(Home& home, Slab& slab) {
  slab.note_listed();
  home.with_free.insert(&slab);
}

// Its slots have changed.
void SlotCache::relist(Home& home, Slab& slab) {
  if (slab.listed_as() == slab.emptiness()) return;
  auto node = home.with_free.extract(&slab);
  slab.note_listed();
  home.with_free.insert(std::move(node));
}

void SlotCache::free_slot(Home& home, Slab& slab, std::uint32_t slot) {
  const bool was_full = slab.free_slots() == 0;
  slab.give(slot);
  if (was_full) {
    list(home, slab);
  } else {
    relist(home, slab);
  }
  if (slab.is_empty()) empty_.note_unused(slab);
}

void SlotCache::give(std::span<const Place> slots) {
  if (slots.empty()) return;
  const CacheKey key = key_of(*slots.front().slab);
  Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  Home& home = shard.homes[key];
  for (const Place& place : slots) {
    place.slab->run->live.fetch_sub(1);
    free_slot(home, *place.slab, slot_of(*place.slab, place.address));
  }
}

void SlotCache::give_late(Slab& slab, Address address, Late late) {
  Shard& shard = shard_of(key_of(slab));
  MutexLock lock(shard.mutex);
  slab.run->live.fetch_sub(1);
  shard.homes[key_of(slab)].late.push_back({&slab, slot_of(slab, address), late});
}

void SlotCache::retire(StreamId stream, Late late) {
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (auto& [key, home] : shard.homes) {
      if (key.stream != stream) continue;
      for (Slab* const slab : home.with_free) {
        if (slab->is_empty()) empty_.note_used(*slab);
        std::uint32_t slot = 0;
        while (slab->free_slots() > 0) {
          slab->take_line({&slot, 1});
          home.late.push_back({slab, slot, late});
        }
      }
      home.with_free.clear();
    }
  }
}

Late SlotCache::latest() const {
  Late latest;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (const auto& [key, home] : shard.homes) {
      for (const LateSlot& slot : home.late) latest.include(slot.late);
    }
  }
  return latest;
}

Bytes SlotCache::bytes_of(const CacheKey& key) const {
  const Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  const auto found = shard.homes.find(key);
  return found == shard.homes.end() ? Bytes() : found->second.bytes;
}

std::size_t SlotCache::add(std::unique_ptr<Slab> slab, std::span<Address> out) {
  const CacheKey key = key_of(*slab);
  Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  Home& home = shard.homes[key];
  home.bytes += slab->bytes();
  const std::size_t taken = out.empty() ? 0 : take_line(*slab, out);
  if (slab->free_slots() > 0) list(home, *slab);
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

std::vector<std::unique_ptr<Slab>> SlotCache::remove_empty(std::size_t most,
                                                           const std::function<bool(const Run&)>& may_go) {
  std::vector<std::unique_ptr<Slab>> removed;
  for (Shard& shard : shards_) {
    if (empty_.count() <= 0 || removed.size() >= most) break;
    MutexLock lock(shard.mutex);
    std::vector<Slab*> empty;
    for (const auto& [key, home] : shard.homes) {
      for (Slab* const slab : home.with_free) {
        if (removed.size() + empty.size() >= most) break;
        if (slab->page() == nullptr && slab->is_empty() && may_go(*slab->run)) empty.push_back(slab);
      }
    }
    for (Slab* const slab : empty) {
      empty_.remove();
      removed.push_back(detach(shard, *slab));
    }
  }
  return removed;
}

std::unique_ptr<Slab> SlotCache::remove_if_empty(Slab& slab) {
  Shard& shard = shard_of(key_of(slab));
  MutexLock lock(shard.mutex);
  if (!shard.slabs.contains(&slab) || !slab.is_empty()) return nullptr;
  return detach(shard, slab);
}

std::vector<std::unique_ptr<Slab>> SlotCache::remove_all() {
  std::vector<std::unique_ptr<Slab>> removed;
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (auto& [key, slab] : shard.slabs) removed.push_back(std::move(slab));
    shard.slabs.clear();
    shard.homes.clear();
  }
  return removed;
}

void SlotCache::for_each(const std::function<void(const Slab&)>& see) const {
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (const auto& [key, slab] : shard.slabs) see(*slab);
  }
}

Status SlotCache::validate(const std::function<std::uint32_t(const Slab&)>& cached) const {
  std::unordered_map<const Run*, std::uint32_t> out;  // slots that are live or in a thread's cache
  for (const Shard& shard : shards_) TESSERA_TRY(validate_shard(shard, cached, out));
  for (const auto& [run, slots] : out) {
    if (slots == run->live.load()) continue;
    return Status(Code::kInternal, fmt::format("{} slots of a page are in use, {} counted", slots, run->live.load()));
  }
  return Status::ok();
}

Status SlotCache::validate_shard(const Shard& shard, const std::function<std::uint32_t(const Slab&)>& cached,
                                 std::unordered_map<const Run*, std::uint32_t>& out) const {
  MutexLock lock(shard.mutex);
  std::unordered_map<const Slab*, std::uint32_t> late;
  for (const auto& [key, home] : shard.homes) {
    for (const LateSlot& slot : home.late) ++late[slot.slab];
    for (const Slab* const slab : home.with_free) {
      if (key_of(*slab) != key || slab->free_slots() == 0 || slab->listed_as() != slab->emptiness()) {
        return Status(Code::kInternal, "a slab is listed in the wrong domain or place, or full");
      }
    }
  }
  for (const auto& [key, slab] : shard.slabs) {
    TESSERA_TRY(slab->validate());
    std::uint32_t live = 0;
    for (std::uint32_t i = 0; i < slab->slots(); ++i) live += slab->word(i).read().live ? 1u : 0u;
    const std::uint32_t in_caches = cached(*key);
    out[slab->run] += live + in_caches;
    if (live + in_caches + late[key] + slab->free_slots() != slab->slots()) {
      return Status(Code::kInternal, fmt::format("a slab of {} slots has {} live, {} free, {} in line, {} in caches",
                                                 slab->slots(), live, slab->free_slots(), late[key], in_caches));
    }
  }
  return Status::ok();
}

}  // namespace tessera
