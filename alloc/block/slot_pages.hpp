// The pages whose slabs a slot cache has: makes them, cuts them, and takes them away again.
//
// The first slabs of a class are parts of pages shared with other classes of its stream and tag, the later ones
// whole pages (shared_page.hpp). A page is removed as a whole, when no slot of it is in use.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "block/cache_key.hpp"
#include "block/shared_pages.hpp"
#include "block/slot_cache.hpp"

namespace tessera {

// A page of slots with all of its records, while it is not in the cache.
struct SlotPage {
  std::unique_ptr<SharedPage> shared;        // null if the page is one slab
  std::vector<std::unique_ptr<Slab>> slabs;  // that one slab, or all that were cut

  BlockOwner& record() const { return shared ? static_cast<BlockOwner&>(*shared) : *slabs.front(); }
  Run* run() const { return record().run; }
  RunOwner owner() const { return {&record(), BlockWord::raw(shared ? shared->words() : slabs.front()->words()), {}}; }
};

class SlotPages {
 public:
  // REQUIRES: `streams` and `slots` outlive it; no other object adds slabs to `slots`.
  SlotPages(const StreamTable& streams, SlotCache& slots) : streams_(streams), slots_(slots) {}

  // Like SlotCache::take(), from a new part of a shared page; 0 if none has room or the next slab must have a page of
  // its own.
  std::size_t cut(const CacheKey& key, std::span<Address> out);
  // The page for the key's next slab: a page of its own, or a shared page with nothing cut yet.
  SlotPage new_page(const CacheKey& key) const;
  // Like SlotCache::take(), from a new slab in the page. REQUIRES: new_page() made it for this key, and its record has
  // a run.
  std::size_t add(SlotPage page, const CacheKey& key, std::span<Address> out);
  // Removes pages without a slot in use, at least `bytes` if there are that many; if `quiet`, only those with
  // runs that no stream uses any more.
  std::vector<SlotPage> remove_empty(Bytes bytes, bool quiet);
  // REQUIRES: remove_empty() returned it.
  void put_back(SlotPage page);
  std::vector<SlotPage> remove_all();

  Bytes empty_bytes() const { return slots_.empty_pages().bytes(); }
  std::uint64_t pages() const;
  // REQUIRES: no other call is in progress.
  Status validate() const;

 private:
  Bytes next_bytes(const CacheKey& key) const { return SharedPage::part_bytes(key.size_class, slots_.bytes_of(key)); }
  bool is_idle(const Run& run, bool quiet) const;
  bool detach_slabs(SlotPage& page);
  void attach(SlotPage page);

  const StreamTable& streams_;
  SlotCache& slots_;
  SharedPages shared_;
};

}  // namespace tessera
