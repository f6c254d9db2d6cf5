#include "block/run_cache.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tessera {

bool RunCache::is_quiet(const SingleBlock& block) const {
  return streams_.passed(block.run->streams.load(), block.run->last_work());
}

SingleBlock* RunCache::take_newest(const LineKey& key) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return nullptr;
  SingleBlock* const block = line->second.back().block;
  line->second.pop_back();
  if (line->second.empty()) lines_.erase(line);
  cached_bytes_ -= block->size_class.bytes();
  return block;
}

SingleBlock* RunCache::take(const CacheKey& key) {
  MutexLock lock(mutex_);
  if (SingleBlock* const own = take_newest({key.size_class, key.tag, key.stream})) return own;
  return take_newest({key.size_class, key.tag, kNoStream});
}

SingleBlock* RunCache::take_quiet(const CacheKey& key) {
  MutexLock lock(mutex_);
  auto at = lines_.lower_bound({key.size_class, key.tag, StreamId(0)});
  for (; at != lines_.end(); ++at) {
    if (at->first.size_class != key.size_class || at->first.tag != key.tag) break;
    Line& line = at->second;
    const auto found = std::find_if(line.begin(), line.end(), [this](const Cached& cached) {
      return is_quiet(*cached.block);
    });
    if (found == line.end()) continue;
    SingleBlock* const block = found->block;
    line.erase(found);
    if (line.empty()) lines_.erase(at);
    cached_bytes_ -= block->size_class.bytes();
    return block;
  }
  return nullptr;
}

bool RunCache::has_other(const CacheKey& key) const {
  MutexLock lock(mutex_);
  auto at = lines_.lower_bound({key.size_class, key.tag, StreamId(0)});
  for (; at != lines_.end(); ++at) {
    if (at->first.size_class != key.size_class || at->first.tag != key.tag) return false;
    if (at->first.stream != key.stream && at->first.stream != kNoStream) return true;
  }
  return false;
}

void RunCache::put(SingleBlock& block) {
  MutexLock lock(mutex_);
  const StreamId stream = block.freed_on.load(std::memory_order_relaxed);
  lines_[{block.size_class, block.tag, stream}].push_back({&block, ++turn_});
  cached_bytes_ += block.size_class.bytes();
}

void RunCache::retire(StreamId stream) {
  MutexLock lock(mutex_);
  std::vector<Lines::node_type> gone;
  for (auto at = lines_.begin(); at != lines_.end();) {
    const auto next = std::next(at);
    if (at->first.stream == stream) gone.push_back(lines_.extract(at));
    at = next;
  }
  for (auto& node : gone) {
    LineKey key = node.key();
    key.stream = kRetiredStream;
    Line& line = lines_[key];
    for (const Cached& cached : node.mapped()) {
      cached.block->freed_on.store(kRetiredStream, std::memory_order_relaxed);
      line.push_back(cached);
    }
  }
}

SingleBlock* RunCache::add(std::unique_ptr<SingleBlock> block) {
  SingleBlock* const added = block.get();
  MutexLock lock(mutex_);
  blocks_.emplace(added, std::move(block));
  return added;
}

std::vector<std::unique_ptr<SingleBlock>> RunCache::remove_cached(Bytes bytes, bool quiet) {
  MutexLock lock(mutex_);
  std::vector<Cached> order;
  for (const auto& [key, line] : lines_) order.insert(order.end(), line.begin(), line.end());
  std::sort(order.begin(), order.end(),
            [](const Cached& a, const Cached& b) { return a.turn < b.turn; });

  std::vector<std::unique_ptr<SingleBlock>> removed;
  std::unordered_set<const SingleBlock*> gone;
  Bytes sum;
  for (const Cached& cached : order) {
    if (sum >= bytes) break;
    if (quiet && !is_quiet(*cached.block)) continue;
    sum += cached.block->size_class.bytes();
    gone.insert(cached.block);
    removed.push_back(std::move(blocks_.extract(cached.block).mapped()));
  }
  for (auto& [key, line] : lines_) {
    std::erase_if(line, [&](const Cached& cached) { return gone.contains(cached.block); });
  }
  std::erase_if(lines_, [](const auto& entry) { return entry.second.empty(); });
  cached_bytes_ -= sum;
  return removed;
}

Bytes RunCache::cached_bytes() const {
  MutexLock lock(mutex_);
  return cached_bytes_;
}

std::uint64_t RunCache::blocks() const {
  MutexLock lock(mutex_);
  return blocks_.size();
}

void RunCache::for_each(const std::function<void(const SingleBlock&)>& see) const {
  MutexLock lock(mutex_);
  for (const auto& [key, block] : blocks_) see(*block);
}

std::vector<std::unique_ptr<SingleBlock>> RunCache::remove_all() {
  MutexLock lock(mutex_);
  std::vector<std::unique_ptr<SingleBlock>> removed;
  for (auto& [key, block] : blocks_) removed.push_back(std::move(block));
  blocks_.clear();
  lines_.clear();
  cached_bytes_ = {};
  return removed;
}

Status RunCache::validate(const std::unordered_set<const BlockOwner*>& in_thread_caches) const {
  MutexLock lock(mutex_);
  std::unordered_set<const SingleBlock*> cached;
  Bytes bytes;
  for (const auto& [key, line] : lines_) {
    if (line.empty()) return Status(Code::kInternal, "an empty line of cached blocks");
    for (const Cached& entry : line) {
      bytes += entry.block->size_class.bytes();
      if (!cached.insert(entry.block).second || !blocks_.contains(entry.block)) {
        return Status(Code::kInternal, "a block is cached twice, or not known");
      }
    }
  }
  if (bytes != cached_bytes_) return Status(Code::kInternal, "cached bytes do not add up");
  for (const auto& [block, owned] : blocks_) {
    const bool live = block->word.read().live;
    const int places = (live ? 1 : 0) + (cached.contains(block) ? 1 : 0) +
                       (in_thread_caches.contains(block) ? 1 : 0);
    if (places != 1 || block->run->live.load() != (live ? 1u : 0u)) {
      return Status(Code::kInternal,
                    fmt::format("the block at {:#x} is in {} places, live {}, counted {}",
                                block->run->address.value(), places, live,
                                block->run->live.load()));
    }
  }
  return Status::ok();
}

}  // namespace tessera
