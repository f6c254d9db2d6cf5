#include "block/shared_pages.hpp"

namespace tessera {

std::unique_ptr<Slab> SharedPages::cut(const CacheKey& key, Bytes bytes) {
  MutexLock lock(mutex_);
  const auto rooms = rooms_.find(key.sharing());
  if (rooms == rooms_.end()) return nullptr;
  const auto found = rooms->second.lower_bound(bytes);
  if (found == rooms->second.end()) return nullptr;
  auto room = rooms->second.extract(found);
  auto slab = room.mapped()->cut(key.size_class, bytes);
  room.key() = room.mapped()->room();
  if (room.key()) rooms->second.insert(std::move(room));
  if (rooms->second.empty()) rooms_.erase(rooms);
  return slab;
}

void SharedPages::add(std::unique_ptr<SharedPage> page) {
  MutexLock lock(mutex_);
  SharedPage* const added = page.get();
  if (added->room()) rooms_[key_of(*added)].emplace(added->room(), added);
  pages_.emplace(added, std::move(page));
}

std::vector<std::unique_ptr<SharedPage>> SharedPages::remove_if(const std::function<bool(const SharedPage&)>& may_go) {
  MutexLock lock(mutex_);
  std::vector<std::unique_ptr<SharedPage>> removed;
  for (auto& [known, page] : pages_) {
    if (may_go(*page)) removed.push_back(std::move(page));
  }
  for (const auto& page : removed) {
    pages_.erase(page.get());
    const auto rooms = rooms_.find(key_of(*page));
    if (rooms == rooms_.end()) continue;
    std::erase_if(rooms->second, [&](const auto& room) { return room.second == page.get(); });
    if (rooms->second.empty()) rooms_.erase(rooms);
  }
  return removed;
}

void SharedPages::for_each(const std::function<void(const SharedPage&)>& see) const {
  MutexLock lock(mutex_);
  for (const auto& [known, page] : pages_) see(*page);
}

}  // namespace tessera
