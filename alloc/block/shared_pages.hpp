// The shared pages of one allocator, by remaining room: the source of slabs for classes with few blocks.
//
// A part is cut from the page of its stream and tag where it leaves the least room. It exists as long as the
// page does, and a page is removed as a whole when none of its slabs has a slot in use.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "block/cache_key.hpp"
#include "block/shared_page.hpp"

namespace tessera {

class SharedPages {
 public:
  // Cuts a slab of this size; null if no page has enough room.
  std::unique_ptr<Slab> cut(const CacheKey& key, Bytes bytes);
  // REQUIRES: page->run is set.
  void add(std::unique_ptr<SharedPage> page);
  // Removes the pages for which `may_go` returns true; no more parts of them are cut.
  std::vector<std::unique_ptr<SharedPage>> remove_if(const std::function<bool(const SharedPage&)>& may_go);

  void for_each(const std::function<void(const SharedPage&)>& see) const;

 private:
  static SharingKey key_of(const SharedPage& page) { return {page.stream, page.tag}; }

  mutable Mutex mutex_{LockRank::kBlock};
  std::unordered_map<const SharedPage*, std::unique_ptr<SharedPage>> pages_ GUARDED_BY(mutex_);
  std::map<SharingKey, std::multimap<Bytes, SharedPage*>> rooms_ GUARDED_BY(mutex_);  // those with room left
};

}  // namespace tessera
