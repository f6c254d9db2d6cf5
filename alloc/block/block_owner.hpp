// The record behind a run: one block, a slab of equal slots, a page of several slabs, or a bundle of blocks.
// `Run::owner` points here.
//
// Thread safety: constants and words from any thread; other members as documented.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/epoch.hpp"
#include "block/block_word.hpp"
#include "block/size_class.hpp"
#include "residency/residency.hpp"

namespace tessera {

// The pending work that must complete before a block freed on other streams may be reused: all up to `epoch`.
struct Late {
  std::uint64_t mask = 0;  // slots of the StreamTable
  Epoch epoch{};

  void include(const Late& other) {
    mask |= other.mask;
    epoch = std::max(epoch, other.epoch);
  }
};

enum class OwnerKind : std::uint8_t { kSingle, kMappable, kSlab, kSharedPage, kBundle };
// Whether the owner is a block that fills its run.
constexpr bool fills_run(OwnerKind kind) { return kind <= OwnerKind::kMappable; }

struct BlockOwner {
  BlockOwner(OwnerKind owner_kind, SizeClass owner_class, TagId owner_tag)
      : kind(owner_kind), size_class(owner_class), tag(owner_tag) {}

  const OwnerKind kind;
  const SizeClass size_class;  // of the block, of each slot, or of the whole run of a shared page or bundle
  const TagId tag;
  // Set once, before any address in it is handed out. Address look-ups use the page map's run instead.
  Run* run = nullptr;
};

// A block with a run of its own, which it fills from the start. In its own cache line, because threads write
// only to their own blocks.
struct alignas(64) SingleBlock : BlockOwner {
  SingleBlock(SizeClass single_class, TagId single_tag) : BlockOwner(OwnerKind::kSingle, single_class, single_tag) {}

  BlockWord word;
  std::atomic<StreamId> stream;               // key of the stream it was last allocated on
  std::atomic<StreamId> freed_on{kNoStream};  // key of the stream it was last freed on

 protected:
  SingleBlock(OwnerKind kind, SizeClass single_class, TagId single_tag) : BlockOwner(kind, single_class, single_tag) {}
};

}  // namespace tessera
