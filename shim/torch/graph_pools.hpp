// Blocks of captured graphs: while graphs live that were captured into a pool, its blocks serve nobody
// else.
//
// A graph goes on using the addresses it was captured with, long after the tensors were freed. So
// PyTorch gives each capture a pool: it says which streams allocate from it meanwhile, and, when the
// last graph of the pool goes, that it is released. A block that is freed in between waits here, and is
// taken again on its stream, in the same capture or in a later one of the pool: PyTorch replays these
// one after another.
//
// When a pool is released its graphs may still run, and PyTorch destroys them after it says so. Their
// blocks go back later: at empty_cache, or when memory is short, once the device is idle; not during a
// capture, which waiting for the device would spoil.
//
// Thread safety: any thread. A program that captures nothing pays one load per call. Filters ask the
// driver and may be called from every thread that allocates.
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

  // One graph more has the pool; until end(), allocations on streams that the filter names are its.
  void begin(const Key& pool, StreamFilter filter);
  void end(const Key& pool);
  // One graph less.
  void release(const Key& pool);

  // Which pool serves an allocation now.
  std::optional<Key> serving(int device, tessera_stream stream) const;
  // Whether the stream is captured into some pool, on any device.
  bool captures(tessera_stream stream) const;
  // A waiting block of at least `bytes`, and not of twice as many; 0 when there is none.
  tessera_address take(const Key& pool, std::size_t bytes, tessera_stream stream);
  // A block for the pool was allocated, of `capacity` bytes.
  void add(const Key& pool, tessera_address block, std::size_t capacity, tessera_stream stream);
  // True for a block of a pool: it waits there. `shared`: other streams used it too, so it may not be
  // taken again in this capture.
  bool keep(tessera_address block, bool shared);
  // Gives the waiting blocks of released pools to give(block), after idle(device) was true. Nothing
  // while a pool is begun. Whether there were any.
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
    std::size_t blocks = 0;  // in use or not
    std::map<tessera_stream, std::set<Place>> waiting;
    std::vector<tessera_address> shared;  // wait for the end of the capture
  };
  struct Route {
    Key pool;
    StreamFilter filter;
  };

  // Blocks that wait in released pools, by device. REQUIRES: the lock.
  std::map<int, std::vector<tessera_address>> due() const;
  // Of which no graph and no block is left. REQUIRES: the lock.
  void forget_empty();

  std::atomic<std::size_t> begun_{0};        // of routes_
  std::atomic<std::size_t> blocks_held_{0};  // of blocks_
  mutable std::mutex mutex_;
  std::vector<Route> routes_;
  std::map<Key, Pool> pools_;
  std::map<tessera_address, Block> blocks_;  // of all pools, in use or not
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
