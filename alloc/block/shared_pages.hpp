// The shared pages of one allocator, by the room that each has left: where the slabs of classes with few blocks come
// from.
//
// A part is cut from the page of its stream and tag in which it leaves least. It stays cut while the page does, and
// pages go as a whole, when none of their slabs has a slot in use.
//
// Thread safety: every call may be made from any thread.
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
  // A slab of so many bytes; null when no page has as much room.
  std::unique_ptr<Slab> cut(const CacheKey& key, Bytes bytes);
  // REQUIRES: page->run is set.
  void add(std::unique_ptr<SharedPage> page);
  // The pages that `may_go` leave: no part of them is cut from then on.
  std::vector<std::unique_ptr<SharedPage>> remove_if(const std::function<bool(const SharedPage&)>& may_go);

  void for_each(const std::function<void(const SharedPage&)>& see) const;

 private:
  static SharingKey key_of(const SharedPage& page) { return {page.stream, page.tag}; }

  mutable Mutex mutex_{LockRank::kBlock};
  std::unordered_map<const SharedPage*, std::unique_ptr<SharedPage>> pages_ GUARDED_BY(mutex_);
  std::map<SharingKey, std::multimap<Bytes, SharedPage*>> rooms_ GUARDED_BY(mutex_);  // those with any
};

}  // namespace tessera
