#include "block/run_cache.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace tessera {

bool RunCache::is_quiet(const SingleBlock& block) const {
  return streams_.passed(block.run->streams.load(), block.run->last_work());
}

SingleBlock* RunCache::take_newest(Shard& shard, const LineKey& key) {
  const auto line = shard.lines.find(key);
  if (line == shard.lines.end()) return nullptr;
  SingleBlock* const block = line->second.back().block;
  line->second.pop_back();
  if (line->second.empty()) shard.lines.erase(line);
  count_out(block->size_class.bytes());
  return block;
}

SingleBlock* RunCache::take(const CacheKey& key) {
  Shard& shard = shards_[shard_of(key.size_class, key.tag)];
  MutexLock lock(shard.mutex);
  SingleBlock* const own = take_newest(shard, {key.size_class, key.tag, key.stream});
  return own ? own : take_newest(shard, {key.size_class, key.tag, kNoStream});
}

SingleBlock* RunCache::take_quiet(const CacheKey& key) {
  Shard& shard = shards_[shard_of(key.size_class, key.tag)];
  MutexLock lock(shard.mutex);
  auto at = shard.lines.lower_bound({key.size_class, key.tag, StreamId(0)});
  for (; at != shard.lines.end(); ++at) {
    if (at->first.size_class != key.size_class || at->first.tag != key.tag) break;
    Line& line = at->second;
    const auto found =
        std::find_if(line.begin(), line.end(), [this](const Cached& cached) { return is_quiet(*cached.block); });
    if (found == line.end()) continue;
    SingleBlock* const block = found->block;
    line.erase(found);
    if (line.empty()) shard.lines.erase(at);
    count_out(block->size_class.bytes());
    return block;
  }
  return nullptr;
}

bool RunCache::has_other(const CacheKey& key) const {
  const Shard& shard = shards_[shard_of(key.size_class, key.tag)];
  MutexLock lock(shard.mutex);
  auto at = shard.lines.lower_bound({key.size_class, key.tag, StreamId(0)});
  for (; at != shard.lines.end(); ++at) {
    if (at->first.size_class != key.size_class || at->first.tag != key.tag) return false;
    if (at->first.stream != key.stream && at->first.stream != kNoStream) return true;
  }
  return false;
}

void RunCache::put(SingleBlock& block) {
  Shard& shard = shard_of(block);
  MutexLock lock(shard.mutex);
  const StreamId stream = block.freed_on.load(std::memory_order_relaxed);
  shard.lines[{block.size_class, block.tag, stream}].push_back({&block, ++turn_});
  cached_bytes_ += block.size_class.bytes().value();
}

void RunCache::retire(StreamId stream) {
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    std::vector<Lines::node_type> gone;
    for (auto at = shard.lines.begin(); at != shard.lines.end();) {
      const auto next = std::next(at);
      if (at->first.stream == stream) gone.push_back(shard.lines.extract(at));
      at = next;
    }
    for (auto& node : gone) {
      LineKey key = node.key();
      key.stream = kRetiredStream;
      Line& line = shard.lines[key];
      for (const Cached& cached : node.mapped()) {
        cached.block->freed_on.store(kRetiredStream, std::memory_order_relaxed);
        line.push_back(cached);
      }
    }
  }
}

SingleBlock* RunCache::add(std::unique_ptr<SingleBlock> block) {
  SingleBlock* const added = block.get();
  Shard& shard = shard_of(*added);
  MutexLock lock(shard.mutex);
  shard.blocks.emplace(added, std::move(block));
  return added;
}

// The oldest of all shards are chosen first and removed afterwards; a block that was served meanwhile stays.
std::vector<std::unique_ptr<SingleBlock>> RunCache::remove_cached(Bytes bytes, bool quiet) {
  std::vector<std::pair<std::uint64_t, Bytes>> order;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (const auto& [key, line] : shard.lines) {
      for (const Cached& cached : line) {
        if (quiet && !is_quiet(*cached.block)) continue;
        order.emplace_back(cached.turn, key.size_class.bytes());
      }
    }
  }
  std::sort(order.begin(), order.end());
  Bytes sum;
  std::uint64_t last = 0;  // the newest turn that is removed
  for (const auto& [turn, size] : order) {
    if (sum >= bytes) break;
    sum += size;
    last = turn;
  }

  std::map<std::uint64_t, std::unique_ptr<SingleBlock>> leaving;  // by turn
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (auto& [key, line] : shard.lines) {
      std::erase_if(line, [&](const Cached& cached) NO_THREAD_SAFETY_ANALYSIS {
        if (cached.turn > last || (quiet && !is_quiet(*cached.block))) return false;
        count_out(cached.block->size_class.bytes());
        leaving.emplace(cached.turn, std::move(shard.blocks.extract(cached.block).mapped()));
        return true;
      });
    }
    std::erase_if(shard.lines, [](const auto& entry) { return entry.second.empty(); });
  }
  std::vector<std::unique_ptr<SingleBlock>> removed;
  for (auto& [turn, block] : leaving) removed.push_back(std::move(block));
  return removed;
}

Bytes RunCache::cached_bytes() const { return Bytes(cached_bytes_.load()); }

std::uint64_t RunCache::blocks() const {
  std::uint64_t blocks = 0;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    blocks += shard.blocks.size();
  }
  return blocks;
}

void RunCache::for_each(const std::function<void(const SingleBlock&)>& see) const {
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (const auto& [key, block] : shard.blocks) see(*block);
  }
}

std::vector<std::unique_ptr<SingleBlock>> RunCache::remove_all() {
  std::vector<std::unique_ptr<SingleBlock>> removed;
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (auto& [key, block] : shard.blocks) removed.push_back(std::move(block));
    shard.blocks.clear();
    shard.lines.clear();
  }
  cached_bytes_ = 0;
  return removed;
}

Status RunCache::validate(const std::unordered_set<const BlockOwner*>& in_thread_caches) const {
  Bytes bytes;
  for (const Shard& shard : shards_) TESSERA_TRY(validate_shard(shard, in_thread_caches, bytes));
  if (bytes != cached_bytes()) return Status(Code::kInternal, "cached bytes do not add up");
  return Status::ok();
}

Status RunCache::validate_shard(const Shard& shard, const std::unordered_set<const BlockOwner*>& in_thread_caches,
                                Bytes& bytes) const {
  MutexLock lock(shard.mutex);
  std::unordered_set<const SingleBlock*> cached;
  for (const auto& [key, line] : shard.lines) {
    if (line.empty()) return Status(Code::kInternal, "an empty line of cached blocks");
    for (const Cached& entry : line) {
      bytes += entry.block->size_class.bytes();
      if (!cached.insert(entry.block).second || !shard.blocks.contains(entry.block)) {
        return Status(Code::kInternal, "a block is cached twice, or unknown");
      }
    }
  }
  for (const auto& [block, owned] : shard.blocks) {
    const bool live = block->word.read().live;
    const int places = (live ? 1 : 0) + (cached.contains(block) ? 1 : 0) + (in_thread_caches.contains(block) ? 1 : 0);
    if (places != 1 || block->run->live.load() != (live ? 1u : 0u)) {
      return Status(Code::kInternal, fmt::format("the block at {:#x} is in {} places, live {}, counted {}",
                                                 block->run->address.value(), places, live, block->run->live.load()));
    }
  }
  return Status::ok();
}

}  // namespace tessera
