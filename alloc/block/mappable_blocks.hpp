// Blocks for memory that the program maps itself: cuMemCreate's, where the preload library serves it.
//
// Such a block is made without an address that the program knows. The program reserves addresses, and maps the block
// there; its run then moves to them (PageManager::move), with its bytes. While it is mapped nowhere it has an address
// of its own, so that it can be evicted and fetched as any other block. It is never cached: frames are what is
// recycled.
//
// Thread safety: all functions may be called from any thread. A block that another call creates, moves or destroys is
// kBusy.
//
// Invariants: every block is live from create() to destroy(), and is in the map under its run's address.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "block/block_owner.hpp"
#include "page/page_manager.hpp"

namespace tessera {

struct MappableBlock : SingleBlock {
  MappableBlock(SizeClass its_class, TagId its_tag) : SingleBlock(OwnerKind::kMappable, its_class, its_tag) {}
};

class MappableBlocks {
 public:
  // `bytes` were allocated, or freed.
  using Count = std::function<void(Bytes bytes, bool allocated)>;

  // REQUIRES: residency and pages outlive it.
  MappableBlocks(Residency& residency, PageManager& pages, Count count)
      : residency_(residency), pages_(pages), count_(std::move(count)) {}

  // Makes a block at an address of its own, without frames. Errors: kInvalidArgument unless `bytes` is a whole number
  // of base pages, above one slot; those of PageManager::acquire.
  Result<Address> create(Bytes bytes, TagId tag);
  // Waits for its uses. Errors: kNotFound unless `address` is the first byte of a mappable block; kBusy, and it stays;
  // those of PageManager::release, and it is gone.
  Status destroy(Address address);
  // Moves the block to `to`, or to an address of its own, and returns the address. At `to` it is in device memory on
  // return if there is room. Errors: kNotFound, kBusy; those of PageManager::move; with automatic eviction off, those
  // of Residency::ensure. It is where it was then.
  Result<Address> move(Address address, std::optional<Address> to);

  std::uint64_t blocks() const;
  void for_each(const std::function<void(const MappableBlock&)>& see) const;
  // REQUIRES: no other call is in progress, here or later.
  std::vector<std::unique_ptr<MappableBlock>> remove_all();

 private:
  struct Entry {
    std::unique_ptr<MappableBlock> block;
    bool busy = false;
  };

  // The block, busy from now on.
  Result<MappableBlock*> claim(Address address);
  void settle(Address before, MappableBlock& block);
  void make_live(MappableBlock& block);

  Residency& residency_;
  PageManager& pages_;
  const Count count_;
  mutable Mutex mutex_{LockRank::kBlock};
  std::map<Address, Entry> blocks_ GUARDED_BY(mutex_);
};

}  // namespace tessera
