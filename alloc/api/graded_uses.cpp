#include "api/graded_uses.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/log.hpp"

namespace tessera {
namespace {

// The room of one device, consumed by the words of a launch.
class RoomForUse {
 public:
  explicit RoomForUse(DeviceHeap& heap)
      : heap_(&heap),
        room_(static_cast<std::int64_t>(heap.tier().usage().capacity.value()) -
              static_cast<std::int64_t>(heap.residency().figures().pinned_bytes().value())),
        lookup_(heap.blocks()) {}

  DeviceHeap* heap() const { return heap_; }
  std::optional<BlockInfo> block_of(Address address) const { return lookup_.block_of(address); }
  // Where nothing is mapped at the address, and it means what is mapped around it.
  Run* range_around(Address address) const { return tessera::range_around(heap_->pages().map(), address); }
  void take_range(Run& range, Address address) {
    name_around(heap_->pages().map(), &range, address, [&](Run* run) { (void)take(*run, true); });
  }
  // Of what the address means in the block's run: false only if it is optional and does not fit. Of a range that does
  // not fit, what contains the address.
  bool take(const BlockInfo& block, Address address, bool needed) {
    bool fits = true;
    for_each_named(heap_->pages().map(), block.run, address, [&](Run* run) {
      fits = fits && (take(*run, needed) || (run->is_range && take(*block.run, needed)));
    });
    return fits;
  }

 private:
  // A needed run is always taken.
  bool take(Run& run, bool needed) {
    if (taken_.contains(&run)) return true;
    Run* const one = &run;
    const auto bytes =
        run.is_pinned() ? 0 : static_cast<std::int64_t>(heap_->residency().ranges().bytes_of({&one, 1}).value());
    if (!needed && bytes > room_) return false;
    taken_.insert(&run);
    room_ -= bytes;
    return true;
  }

  DeviceHeap* heap_;
  std::int64_t room_;
  BlockCache::Lookup lookup_;
  std::set<const Run*> taken_;
};

// Where a part of a reservation can be used in host memory, an address in it is as good as certain: to have too much of
// the reservation there is slow, and too little is an illegal address.
bool may_be_partial(DeviceHeap& heap, const BlockInfo& block) {
  return block.run->row != nullptr && heap.residency().ranges().can_be_partial();
}

// The range that such an address means; null also for one that may be none, where all of it cannot be there.
Run* range_around(const RoomForUse* room, Address address, bool is_certain) {
  if (room == nullptr || (!is_certain && !room->heap()->residency().ranges().can_be_partial())) return nullptr;
  return room->range_around(address);
}

}  // namespace

// Certain words go first, so that doubtful ones get only the remaining room.
Result<GradedUses::Chosen> GradedUses::choose_fitting(const GradedAddresses& words, bool refuses_strays) {
  std::deque<RoomForUse> rooms;
  const auto room_of = [&](Address address) -> RoomForUse* {
    DeviceHeap* const heap = heaps_.of(address);
    if (heap == nullptr) return nullptr;
    const auto known = std::ranges::find(rooms, heap, &RoomForUse::heap);
    return known != rooms.end() ? &*known : &rooms.emplace_back(*heap);
  };
  Chosen chosen;
  std::vector<Address> doubtful;
  for (std::size_t i = 0; i < words.all.size(); ++i) {
    const Address address = words.all[i];
    RoomForUse* const room = room_of(address);
    const auto block = room == nullptr ? std::nullopt : room->block_of(address);
    if (Run* const range = block ? nullptr : range_around(room, address, i < words.certain)) {
      room->take_range(*range, address);
      chosen.addresses.push_back(address);
      continue;
    }
    if (!block && refuses_strays && room != nullptr && i < words.certain) {
      return not_ours(address);
    }
    if (!block) continue;
    const bool begins = i < words.certain + words.likely && block->address == address;
    if (i < words.certain || begins || may_be_partial(*room->heap(), *block)) {
      room->take(*block, address, true);
      chosen.addresses.push_back(address);
    } else {
      doubtful.push_back(address);
    }
  }
  chosen.needed = chosen.addresses.size();
  for (const Address address : doubtful) {
    RoomForUse* const room = room_of(address);
    const auto block = room->block_of(address);
    if (!block) continue;
    if (room->take(*block, address, false)) {
      chosen.addresses.push_back(address);
    } else {
      log_line(LogLevel::kDebug,
               "the block at {:#x} does not fit in addition to those that the launch is known to use: skipped",
               block->address.value());
    }
  }
  return chosen;
}

// Words that may be none are fetched to be safe; they show nothing.
Status GradedUses::begin(const GradedAddresses& words, StreamId stream, Access access, const char* name,
                         AnnouncedUse& use) {
  const Status begun = begin_fitting(words, stream, access, name, use);
  if (begun.is_ok()) uses_.note_unshown(words.all.subspan(words.certain), words.all.first(words.certain));
  return begun;
}

Status GradedUses::begin_fitting(const GradedAddresses& words, StreamId stream, Access access, const char* name,
                                 AnnouncedUse& use) {
  use.use.work = name;
  if (uses_.try_begin(words.all, stream, access, use)) return {};
  const bool refuses_strays = std::exchange(use.refuses_strays, false);
  Chosen chosen;
  TESSERA_TRY_ASSIGN(chosen, choose_fitting(words, refuses_strays));
  if (chosen.needed < chosen.addresses.size()) use.use.oversized = Oversized::kRefused;
  Status status = uses_.begin(chosen.addresses, stream, access, Use::Kind::kGate, name, use);
  // The room was an estimate, and the tiers below may be full; or an optional block cannot be read any more.
  const Code code = status.code();
  const bool of_others = code == Code::kOutOfMemory || code == Code::kDataLoss || code == Code::kIo;
  if (!of_others || chosen.needed == chosen.addresses.size()) return status;
  use = {};
  return uses_.begin(std::span(chosen.addresses).first(chosen.needed), stream, access, Use::Kind::kGate, name, use);
}

}  // namespace tessera
