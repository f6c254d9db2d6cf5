// The layouts of the kernels that a program launches, found without a lock: a fixed table that all threads share.
//
// An entry is a line of the caches. It is written in a few words between two changes of its version, so that a launch
// that reads it meanwhile finds nothing, and asks the table behind this one. The places that it refers to never change
// and are never freed (place_lists.hpp). A handle is in one of kReach entries from the one that its value gives; a
// further handle takes the first of them.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "cuda_api.hpp"
#include "place_lists.hpp"

namespace tessera::preload {

class LayoutCache {
 public:
  static constexpr std::size_t kEntries = 512;
  static constexpr std::size_t kReach = 4;

  struct Found {
    const char* name = nullptr;
    std::span<const ParameterPlace> places;
  };

  constexpr LayoutCache() = default;

  // False if it is not known in this generation.
  [[gnu::always_inline]] bool find(CUfunction function, std::uint32_t generation, Found& found) const {
    const std::size_t first = place_of(function);
    for (std::size_t step = 0; step < kReach; ++step) {
      const Entry& entry = entries_[(first + step) % kEntries];
      const std::uint32_t version = entry.version.load(std::memory_order_acquire);
      const bool is_it = entry.function.load(std::memory_order_acquire) == function;
      if (!is_it) continue;
      const bool is_new = entry.generation.load(std::memory_order_acquire) == generation;
      const std::uint32_t count = entry.count.load(std::memory_order_acquire);
      const ParameterPlace* const places = entry.places.load(std::memory_order_acquire);
      found.name = entry.name.load(std::memory_order_acquire);
      if (!is_new || version % 2 != 0 || entry.version.load(std::memory_order_relaxed) != version) return false;
      found.places = {places, count};
      return true;
    }
    return false;
  }

  // Where another thread writes to the entry, nothing is kept. REQUIRES: the places are never freed.
  void keep(CUfunction function, std::uint32_t generation, const Found& layout) {
    Entry& entry = entry_for(function, generation);
    std::uint32_t version = entry.version.load(std::memory_order_relaxed);
    if (version % 2 != 0 || !entry.version.compare_exchange_strong(version, version + 1)) return;
    entry.function.store(function, std::memory_order_release);
    entry.generation.store(generation, std::memory_order_release);
    entry.count.store(static_cast<std::uint32_t>(layout.places.size()), std::memory_order_release);
    entry.places.store(layout.places.data(), std::memory_order_release);
    entry.name.store(layout.name, std::memory_order_release);
    entry.version.store(version + 2, std::memory_order_release);
  }

 private:
  struct alignas(64) Entry {
    std::atomic<CUfunction> function{nullptr};
    std::atomic<const char*> name{nullptr};
    std::atomic<const ParameterPlace*> places{nullptr};
    std::atomic<std::uint32_t> count{0};
    std::atomic<std::uint32_t> generation{0};  // 0: empty
    std::atomic<std::uint32_t> version{0};     // odd while it is written
  };
  static_assert(sizeof(Entry) == 64);

  static std::size_t place_of(CUfunction function) {
    return reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15ull >> 55;
  }
  static_assert(std::size_t{1} << (64 - 55) == kEntries);

  // Its own, one that is out of date, or the first.
  Entry& entry_for(CUfunction function, std::uint32_t generation) {
    const std::size_t first = place_of(function);
    Entry* free = nullptr;
    for (std::size_t step = 0; step < kReach; ++step) {
      Entry& entry = entries_[(first + step) % kEntries];
      if (entry.function.load(std::memory_order_relaxed) == function) return entry;
      if (free == nullptr && entry.generation.load(std::memory_order_relaxed) != generation) free = &entry;
    }
    return free != nullptr ? *free : entries_[first];
  }

  std::array<Entry, kEntries> entries_{};
};

}  // namespace tessera::preload
