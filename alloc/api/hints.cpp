#include "api/hints.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

namespace tessera {
namespace {

// Parts of it can be used one by one.
bool can_be_cut(const Run& whole) { return whole.is_range || whole.shape.bytes() >= kLeastRow; }

// The object is all of the run's block, as far as pages tell, so nothing has to be known of it.
bool fills(const AddressRange& object, const Run& run) {
  if (run.is_range) return false;
  const auto page_in = [&run](Address address) { return (address - run.address) / kBasePage; };
  return page_in(object.address) == 0 &&
         page_in(object.address + (object.bytes - Bytes(1))) == page_in(run.address + (run.shape.bytes() - Bytes(1)));
}

// Whether its objects are not known yet, and have to be.
bool is_to_be_followed(const Run& whole, const AddressRange& object) {
  if (!can_be_cut(whole) || whole.stays_whole.load(std::memory_order_relaxed)) return false;
  if (whole.is_cut.load(std::memory_order_relaxed) && whole.live_extents.load() != nullptr) return false;
  return !fills(object, whole);
}

}  // namespace

Status Hints::prefetch(std::span<const Address> addresses) {
  for (Address address : addresses) {
    TESSERA_TRY(heaps_.with_run(address, [this, address](DeviceHeap& heap, Run* run) {
      std::vector<Run*> runs;
      for_each_named(heap.pages().map(), run, address, [&runs](Run* part) { runs.push_back(part); });
      Status status = heap.residency().prefetch(runs);
      heaps_.kick_pump(heap);
      return status;
    }));
  }
  return {};
}

Status Hints::evict(std::span<const Address> addresses) {
  for (Address address : addresses) TESSERA_TRY(heaps_.check_is_ours(address));
  for (DeviceHeap* const heap : heaps_.all()) {
    const BlockCache::Lookup lookup(heap->blocks());
    std::vector<Run*> runs;
    for (Address address : addresses) {
      Run* const run = heap->holds(address) ? lookup.run_of(address) : nullptr;
      if (run == nullptr) continue;  // it is on another device, or was freed meanwhile
      for_each_named(heap->pages().map(), run, address, [&runs](Run* part) { runs.push_back(part); });
    }
    if (runs.empty()) continue;
    const Status status = heap->residency().evict(runs);
    heaps_.kick_pump(*heap);
    TESSERA_TRY(status);
  }
  return {};
}

Result<std::optional<TagId>> Hints::tag_named(const char* name) const {
  if (name == nullptr) return std::optional<TagId>();
  const std::optional<TagId> tag = tags_.find(name);
  if (!tag) return Status(Code::kNotFound, fmt::format("no block was ever tagged '{}'", name));
  return tag;
}

Result<Moved> Hints::sleep(const char* tag) {
  const Activity::Counts before = activity_.counts();
  auto moved = on_all_heaps(tag, [](Sleeper& sleeper, std::optional<TagId> of) { return sleeper.sleep(of); });
  if (moved.is_ok() && tag == nullptr) activity_.note_asleep(before);
  return moved;
}

Result<Moved> Hints::sleep_unless(const Sleeper::Interrupted& interrupted) {
  const Activity::Counts before = activity_.counts();
  auto moved =
      on_all_heaps(nullptr, [&](Sleeper& sleeper, std::optional<TagId> of) { return sleeper.sleep(of, interrupted); });
  if (moved.is_ok() && !interrupted()) activity_.note_idle_sleep(before);
  return moved;
}

Result<Moved> Hints::wake(const char* tag) {
  auto moved = on_all_heaps(tag, [](Sleeper& sleeper, std::optional<TagId> of) { return sleeper.wake(of); });
  Bytes away;
  for (DeviceHeap* const heap : heaps_.all()) away += heap->residency().sleeper().away();
  activity_.note_awake(tag == nullptr || away == Bytes());
  return moved;
}

// Calls every device, also after one failed.
template <class Act>
Result<Moved> Hints::on_all_heaps(const char* name, Act act) {
  std::optional<TagId> tag;
  TESSERA_TRY_ASSIGN(tag, tag_named(name));
  Moved sum;
  Status result;
  for (DeviceHeap* const heap : heaps_.all()) {
    const Result<Moved> moved = act(heap->residency().sleeper(), tag);
    heaps_.kick_pump(*heap);
    if (moved.is_ok()) {
      sum.moved += moved.value().moved;
      sum.stayed += moved.value().stayed;
    } else if (result.is_ok()) {
      result = moved.status();
    }
  }
  if (!result.is_ok()) return result;
  return sum;
}

// The extents before are destroyed when no other call reads them any more, and this one is no reader.
Status Hints::set_extents(Address address, std::vector<Extent> extents) {
  DeviceHeap* const heap = heaps_.of(address);
  if (heap == nullptr) return not_ours(address);
  std::unique_ptr<const Extents> before;
  {
    const BlockCache::Lookup lookup(heap->blocks());
    const auto block = lookup.block_of(address);
    if (!block) return not_ours(address);
    Run* const run = block->run->row != nullptr ? block->run->row : block->run;
    std::optional<Extents> next;
    if (!extents.empty()) {
      const auto reserved = run->is_range ? heap->pages().reservation_of(address) : std::nullopt;
      TESSERA_TRY_ASSIGN(next, Extents::of(std::move(extents), reserved ? reserved->second : block->bytes));
    }
    // Others may share the run; it is too small for parts then.
    TESSERA_TRY_ASSIGN(before, heap->residency().runs().set_extents(run, std::move(next)));
  }
  if (before != nullptr) heap->pages().await_readers();
  return {};
}

// What moves as a whole needs none.
Status Hints::note_object(const AddressRange& object) {
  DeviceHeap* const heap = heaps_.of(object.address);
  if (heap == nullptr || !object.bytes) return {};
  {
    const BlockCache::Lookup lookup(heap->blocks());
    const Run* const run = lookup.run_of(object.address);
    if (run == nullptr || !can_be_cut(run->whole()) || run->whole().stays_whole.load()) return {};
  }
  LiveExtents* extents = nullptr;
  TESSERA_TRY_ASSIGN(extents, heap->live_extents());
  if (extents->add(object.address, object.bytes)) return {};
  const Status kept = keep_whole(object.address);
  return kept.code() == Code::kNotFound ? Status() : kept;  // it has ended meanwhile
}

// The common case, an object in a block that is followed, takes no lock.
Status Hints::follow(const AddressRange& object) {
  DeviceHeap* const heap = heaps_.of(object.address);
  LiveExtents* const extents = heap == nullptr || !object.bytes ? nullptr : heap->live_extents_if_any();
  if (extents == nullptr) return {};
  std::unique_ptr<const Extents> before;
  {
    const BlockCache::Lookup lookup(heap->blocks());
    Run* const run = lookup.run_of(object.address);
    if (run == nullptr || !is_to_be_followed(run->whole(), object)) return {};
    TESSERA_TRY_ASSIGN(before, heap->residency().runs().follow(&run->whole(), *extents));
  }
  if (before != nullptr) heap->pages().await_readers();
  return {};
}

// All are noted before the first block is cut: from then on an address means what is known.
Status Hints::add_extents(std::span<const AddressRange> objects) {
  for (const AddressRange& object : objects) TESSERA_TRY(note_object(object));
  Status result;
  for (const AddressRange& object : objects) {
    const Status followed = follow(object);
    if (result.is_ok()) result = followed;
  }
  return result;
}

void Hints::remove_extents(std::span<const Address> addresses) {
  for (const Address address : addresses) {
    DeviceHeap* const heap = heaps_.of(address);
    LiveExtents* const extents = heap == nullptr ? nullptr : heap->live_extents_if_any();
    if (extents != nullptr) extents->remove(address);
  }
}

Status Hints::keep_whole(Address address) {
  DeviceHeap* const heap = heaps_.of(address);
  if (heap == nullptr) return not_ours(address);
  const BlockCache::Lookup lookup(heap->blocks());
  Run* const run = lookup.run_of(address);
  if (run == nullptr) return not_ours(address);
  if (can_be_cut(run->whole()) && !run->whole().stays_whole.load()) heap->residency().runs().keep_whole(&run->whole());
  return {};
}

Status Hints::set_recompute(Address address, Recomputer recomputer, Nanoseconds cost) {
  DeviceHeap* const heap = heaps_.of(address);
  if (heap == nullptr) return not_ours(address);
  const BlockCache::Lookup lookup(heap->blocks());
  const auto block = lookup.block_of(address);
  if (!block) return not_ours(address);
  Recompute recompute{{}, recomputer ? std::max(cost, Nanoseconds(1)) : Nanoseconds()};
  const Nanoseconds recorded = recompute.cost;
  if (recomputer) {
    recompute.work = [recomputer = std::move(recomputer), at = block->address, bytes = block->bytes](StreamId on) {
      return recomputer(at, bytes, on);
    };
  }
  TESSERA_TRY(heap->residency().recomputation().set(block->run, std::move(recompute)));
  if (recorder_.is_on()) recorder_.writer().remakable(block->address.value(), recorded);
  return {};
}

}  // namespace tessera
