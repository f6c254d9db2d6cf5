// The record behind a run: either one block, or a slab of equal slots. `Run::owner` points here.
//
// Thread safety: the constants and the words by any thread; what else there is, as it says.
#pragma once

#include <atomic>
#include <cstdint>

#include "block/block_word.hpp"
#include "block/size_class.hpp"
#include "residency/residency.hpp"

namespace tessera {

enum class OwnerKind : std::uint8_t { kSingle, kSlab };

struct BlockOwner {
  BlockOwner(OwnerKind owner_kind, SizeClass owner_class, TagId owner_tag)
      : kind(owner_kind), size_class(owner_class), tag(owner_tag) {}

  const OwnerKind kind;
  const SizeClass size_class;
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
