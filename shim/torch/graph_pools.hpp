// Blocks of captured graphs: while graphs captured into a pool exist, its blocks are not used for other allocations.
//
// A graph keeps using the addresses that it was captured with, long after the tensors were freed. So PyTorch gives each
// capture a pool: it announces which streams allocate from it during the capture, and, when the pool's last graph is
// gone, releases it. A block freed in between stays in the pool, and is reused on its stream, in the same capture or in
// a later one of the pool: PyTorch replays these one after another.
//
// When a pool is released, its graphs may still be running, and PyTorch destroys them only afterwards. Their blocks are
// given back later: at empty_cache, or when memory is short, once the device is idle; but not during a capture, which
// waiting for the device would invalidate.
//
// Thread safety: any thread. A program without captures pays one load per call. Filters query the driver and may be
// called by every thread that allocates.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tessera/tessera.h"

namespace tessera::torch {

using PoolId = std::pair<unsigned long long, unsigned long long>;  // PyTorch's MempoolId_t
using StreamFilter = std::function<bool(tessera_stream)>;

class GraphPools {
 public:
  struct Key {
    int device;
    PoolId id;
    auto operator<=>(const Key&) const = default;
  };

  // Adds a graph to the pool; until end(), allocations on streams accepted by the filter come from it.
  void begin(const Key& pool, StreamFilter filter);
  void end(const Key& pool);
  // Removes a graph from the pool.
  void release(const Key& pool);

  // The pool that serves an allocation now.
  std::optional<Key> serving(int device, tessera_stream stream) const;
  // Whether the stream is being captured into any pool, on any device.
  bool captures(tessera_stream stream) const;
  // A free block of the pool with at least `bytes` and less than twice as many; 0 if there is none.
  tessera_address take(const Key& pool, std::size_t bytes, tessera_stream stream);
  // A block of `capacity` bytes was allocated for the pool.
  void add(const Key& pool, tessera_address block, std::size_t capacity, tessera_stream stream);
  // True for a block of a pool: it becomes free in the pool. `shared`: other streams used it too, so it must not be
  // reused in this capture.
  bool keep(tessera_address block, bool shared);
  // Passes the free blocks of released pools to give(block), once idle(device) returns true. Does nothing while a
  // capture into any pool is active. Returns whether there were any.
  template <class Idle, class Give>
  bool give_back(Idle idle, Give give);

 private:
  struct Block {
    Key pool;
    std::size_t capacity;
    tessera_stream stream;
  };
  using Place = std::pair<std::size_t, tessera_address>;  // by capacity
  struct Pool {
    unsigned graphs = 0;
    std::size_t blocks = 0;  // in use or free
    std::map<tessera_stream, std::set<Place>> waiting;
    std::vector<tessera_address> shared;  // unusable until the end of the capture
  };
  struct Route {
    Key pool;
    StreamFilter filter;
  };

  // Free blocks of released pools, by device. REQUIRES: the lock.
  std::map<int, std::vector<tessera_address>> due() const;
  // Removes pools without graphs and blocks. REQUIRES: the lock.
  void forget_empty();

  std::atomic<std::size_t> begun_{0};        // size of routes_
  std::atomic<std::size_t> blocks_held_{0};  // size of blocks_
  mutable std::mutex mutex_;
  std::vector<Route> routes_;
  std::map<Key, Pool> pools_;
  std::map<tessera_address, Block> blocks_;  // of all pools, in use or free
};

template <class Idle, class Give>
bool GraphPools::give_back(Idle idle, Give give) {
  if (blocks_held_.load() == 0) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!routes_.empty()) return false;
  const std::size_t before = blocks_.size();
  for (const auto& [device, blocks] : due()) {
    if (!idle(device)) continue;
    for (const tessera_address block : blocks) {
      const auto known = blocks_.find(block);
      Pool& pool = pools_.at(known->second.pool);
      pool.waiting[known->second.stream].erase({known->second.capacity, block});
      --pool.blocks;
      blocks_.erase(known);
      give(block);
    }
  }
  blocks_held_.store(blocks_.size());
  forget_empty();
  return blocks_.size() < before;
}

}  // namespace tessera::torch
