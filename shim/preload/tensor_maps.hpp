// Tensor maps: 128 opaque bytes through which kernels access a block, and the address that each stands for.
//
// A kernel that copies tiles is given a descriptor, by value in its parameters or in memory, that shows no address. But
// equal bytes are the same map, so an encoded map is recognised wherever its bytes appear complete: in the parameters
// of a launch, and in a copy to the device. The map of a freed block stays known: another block may be placed at the
// address.
//
// Thread safety: any thread. A program that encodes no maps pays one load per launch.
// Invariants: at most kMost maps.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#include "cuda_api.hpp"

namespace tessera::preload {

class TensorMaps {
 public:
  static constexpr std::size_t kMost = 1 << 16;
  static constexpr std::size_t kAlignment = 64;  // where a map can begin, in all versions of CUDA

  bool any() const { return held_.load(std::memory_order_relaxed) != 0; }

  // `map` stands for `address`. If there are too many, maps for which is_live(address) is false are forgotten; returns
  // false if that did not free a place. `is_live` must not call this object.
  template <class IsLive>
  bool add(const CUtensorMap& map, CUdeviceptr address, IsLive is_live) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    const Map bytes = copy_of(&map);
    const bool one_more = !maps_.contains(bytes);
    if (one_more && maps_.size() >= kMost) {
      // This checks every map, so it is not done at each refusal.
      if (refused_++ % kRefusals != 0) return false;
      std::erase_if(maps_, [&](const auto& known) { return !is_live(known.second); });
      if (maps_.size() >= kMost) return false;
      refused_ = 0;
    }
    maps_[bytes] = address;
    held_.store(maps_.size(), std::memory_order_relaxed);
    return true;
  }
  void forget_all() {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    maps_.clear();
    refused_ = 0;
    held_.store(0, std::memory_order_relaxed);
  }
  // Calls each(offset, address) for every map that begins at a multiple of kAlignment from `begin` and ends within the
  // bytes. `each` must not call this object.
  template <class Each>
  void visit(const void* begin, std::size_t bytes, Each each) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    for (std::size_t i = 0; i + sizeof(Map) <= bytes; i += kAlignment) {
      const auto known = maps_.find(copy_of(static_cast<const char*>(begin) + i));
      if (known != maps_.end()) each(i, known->second);
    }
  }

 private:
  using Map = std::array<char, sizeof(CUtensorMap)>;
  struct Hash {
    std::size_t operator()(const Map& map) const {
      return std::hash<std::string_view>()(std::string_view(map.data(), map.size()));
    }
  };

  static constexpr std::size_t kRefusals = 4096;

  static Map copy_of(const void* bytes) {
    Map map;
    std::memcpy(map.data(), bytes, map.size());
    return map;
  }

  mutable std::shared_mutex mutex_;
  std::unordered_map<Map, CUdeviceptr, Hash> maps_;
  std::size_t refused_ = 0;  // since maps were last forgotten
  std::atomic<std::size_t> held_{0};
};

// The instance of this process.
TensorMaps& tensor_maps();

}  // namespace tessera::preload
