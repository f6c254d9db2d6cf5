// Tensor maps: 128 opaque bytes by which kernels reach a block, and which address each stands for.
//
// A kernel that copies tiles is given a descriptor, by value in its parameters or in memory, and no
// address can be seen in it. But equal bytes are the same map, so what a call has encoded is known
// again wherever the bytes turn up whole: in the parameters of a launch, and in a copy to the device.
// A map of a block that was freed stays known: another block may come to the address.
//
// Thread safety: any thread. A program that encodes none pays one load per launch.
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
  static constexpr std::size_t kAlignment = 64;  // where one can begin, in all versions of CUDA

  bool any() const { return held_.load(std::memory_order_relaxed) != 0; }

  // `map` stands for `address`. When there are too many, those whose address is_live(address) denies
  // are forgotten; false when that was not enough. `is_live` must not come back here.
  template <class IsLive>
  bool add(const CUtensorMap& map, CUdeviceptr address, IsLive is_live) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    const Map bytes = copy_of(&map);
    const bool one_more = !maps_.contains(bytes);
    if (one_more && maps_.size() >= kMost) {
      // All of them are asked about, so not at each refusal.
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
  // Calls each(offset, address) for every map that begins at a multiple of its alignment from
  // `begin` and ends among the bytes. `each` must not come back here.
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
  std::size_t refused_ = 0;  // since maps were forgotten last
  std::atomic<std::size_t> held_{0};
};

// The process's one.
TensorMaps& tensor_maps();

}  // namespace tessera::preload
