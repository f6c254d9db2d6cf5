#include "graph_pools.hpp"

#include <algorithm>

namespace tessera::torch {

void GraphPools::begin(const Key& pool, StreamFilter filter) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++pools_[pool].graphs;
  routes_.push_back({pool, std::move(filter)});
  begun_.store(routes_.size());
}

void GraphPools::end(const Key& pool) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto route =
      std::find_if(routes_.rbegin(), routes_.rend(), [&](const Route& each) { return each.pool == pool; });
  if (route != routes_.rend()) routes_.erase(std::next(route).base());
  begun_.store(routes_.size());
  const auto known = pools_.find(pool);
  if (known == pools_.end()) return;
  for (const tessera_address address : known->second.shared) {
    const Block& block = blocks_.at(address);
    known->second.waiting[block.stream].emplace(block.capacity, address);
  }
  known->second.shared.clear();
}

void GraphPools::release(const Key& pool) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = pools_.find(pool);
  if (known == pools_.end() || known->second.graphs == 0) return;
  --known->second.graphs;
  forget_empty();
}

std::optional<GraphPools::Key> GraphPools::serving(int device, tessera_stream stream) const {
  if (begun_.load() == 0) return std::nullopt;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Route& route : routes_) {
    if (route.pool.device == device && route.filter(stream)) return route.pool;
  }
  return std::nullopt;
}

bool GraphPools::captures(tessera_stream stream) const {
  if (begun_.load() == 0) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(routes_.begin(), routes_.end(), [stream](const Route& route) { return route.filter(stream); });
}

tessera_address GraphPools::take(const Key& pool, std::size_t bytes, tessera_stream stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::set<Place>& waiting = pools_[pool].waiting[stream];
  const auto found = waiting.lower_bound({bytes, 0});
  if (found == waiting.end() || found->first / 2 >= bytes) return 0;
  const tessera_address address = found->second;
  waiting.erase(found);
  return address;
}

void GraphPools::add(const Key& pool, tessera_address block, std::size_t capacity, tessera_stream stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocks_[block] = {pool, capacity, stream};
  ++pools_[pool].blocks;
  blocks_held_.store(blocks_.size());
}

bool GraphPools::keep(tessera_address block, bool shared) {
  if (blocks_held_.load() == 0) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = blocks_.find(block);
  if (known == blocks_.end()) return false;
  const Block& freed = known->second;
  Pool& pool = pools_.at(freed.pool);
  const bool begun =
      std::any_of(routes_.begin(), routes_.end(), [&](const Route& each) { return each.pool == freed.pool; });
  if (shared && begun) {
    pool.shared.push_back(block);
  } else {
    pool.waiting[freed.stream].emplace(freed.capacity, block);
  }
  return true;
}

std::map<int, std::vector<tessera_address>> GraphPools::due() const {
  std::map<int, std::vector<tessera_address>> found;
  for (const auto& [key, pool] : pools_) {
    if (pool.graphs != 0) continue;
    for (const auto& [stream, waiting] : pool.waiting) {
      for (const auto& [capacity, block] : waiting) found[key.device].push_back(block);
    }
  }
  return found;
}

void GraphPools::forget_empty() {
  std::erase_if(pools_, [](const auto& each) { return each.second.graphs == 0 && each.second.blocks == 0; });
}

}  // namespace tessera::torch
