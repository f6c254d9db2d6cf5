// The record behind a run: one block, a slab of equal slots, a page of several slabs, or a bundle of blocks.
// `Run::owner` points here.
//
// Thread safety: the constants and the words by any thread; what else there is, as it says.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "block/block_word.hpp"
#include "block/size_class.hpp"
#include "residency/residency.hpp"

namespace tessera {

// What has to be over before a block that was freed on other streams serves again: their work up to `epoch`.
struct Late {
  std::uint64_t mask = 0;  // of slots of the StreamTable
  std::uint64_t epoch = 0;

  void include(const Late& other) {
    mask |= other.mask;
    epoch = std::max(epoch, other.epoch);
  }
};

enum class OwnerKind : std::uint8_t { kSingle, kSlab, kSharedPage, kBundle };

struct BlockOwner {
  BlockOwner(OwnerKind owner_kind, SizeClass owner_class, TagId owner_tag)
      : kind(owner_kind), size_class(owner_class), tag(owner_tag) {}

  const OwnerKind kind;
  const SizeClass size_class;  // of the block, of each slot, or of a shared page's or bundle's whole run
  const TagId tag;
  // Set once, before any address in it is handed out. Who looks an address up uses the page map's.
  Run* run = nullptr;
};

// A block of its own: at the start of its run, and as long. Alone in its cache line, because threads
// write to their own blocks only.
struct alignas(64) SingleBlock : BlockOwner {
  SingleBlock(SizeClass single_class, TagId single_tag)
      : BlockOwner(OwnerKind::kSingle, single_class, single_tag) {}

  BlockWord word;
  std::atomic<StreamId> stream;               // key of the stream it was last allocated for
  std::atomic<StreamId> freed_on{kNoStream};  // key of the stream it was last freed on
};

}  // namespace tessera
