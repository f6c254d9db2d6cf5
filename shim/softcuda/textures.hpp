// Texture and surface objects: the program's descriptions of memory to read or write through them. Kernels here have no
// texture functions, so the objects are only stored.
//
// Thread safety: every call may be made from any thread; descriptions are returned as copies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/mutex.hpp"
#include "cuda_api.hpp"

namespace tessera::softcuda {

struct Texture {
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC texture{};
  std::optional<CUDA_RESOURCE_VIEW_DESC> view;
};

// Textures and surfaces are numbered together.
class Textures {
 public:
  CUtexObject add(const Texture& texture) {
    const MutexLock lock(mutex_);
    textures_.emplace(next_, texture);
    return next_++;
  }
  CUsurfObject add(const CUDA_RESOURCE_DESC& resource) {
    const MutexLock lock(mutex_);
    surfaces_.emplace(next_, resource);
    return next_++;
  }
  std::optional<Texture> find_texture(CUtexObject object) {
    const MutexLock lock(mutex_);
    const auto known = textures_.find(object);
    return known != textures_.end() ? std::optional(known->second) : std::nullopt;
  }
  std::optional<CUDA_RESOURCE_DESC> find_surface(CUsurfObject object) {
    const MutexLock lock(mutex_);
    const auto known = surfaces_.find(object);
    return known != surfaces_.end() ? std::optional(known->second) : std::nullopt;
  }
  bool remove_texture(CUtexObject object) {
    const MutexLock lock(mutex_);
    return textures_.erase(object) != 0;
  }
  bool remove_surface(CUsurfObject object) {
    const MutexLock lock(mutex_);
    return surfaces_.erase(object) != 0;
  }

 private:
  Mutex mutex_{LockRank::kRegistry};
  std::uint64_t next_ GUARDED_BY(mutex_) = 1;
  std::map<CUtexObject, Texture> textures_ GUARDED_BY(mutex_);
  std::map<CUsurfObject, CUDA_RESOURCE_DESC> surfaces_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
