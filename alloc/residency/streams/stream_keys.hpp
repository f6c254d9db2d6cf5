// Which slot a stream has, found without a lock: an open hash table by stream and thread.
//
// Thread safety: find() and slot_of() from any thread; put() and forget() from one thread at a time.
//
// Bounds: kKeys streams; further ones are not found here.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "residency/streams/slots_in.hpp"

namespace tessera {

class StreamKeys {
 public:
  // The slot of a stream of no thread, if it is at its first key. Cheap.
  std::optional<std::uint32_t> slot_of(StreamId stream) const {
    // The key may be reassigned between the loads: then its slot has changed too, or is still right.
    const Key& key = keys_[hash_of(stream, 0) % kKeys];
    const std::uint32_t slot_plus_one = key.slot_plus_one.load(std::memory_order_acquire);
    const bool found = key.stream.load(std::memory_order_acquire) == stream.value() &&
                       key.thread.load(std::memory_order_acquire) == 0 && slot_plus_one - 1 < kStreamSlots;
    if (found && key.slot_plus_one.load(std::memory_order_relaxed) == slot_plus_one) [[likely]] {
      return slot_plus_one - 1;
    }
    return std::nullopt;
  }
  std::optional<std::uint32_t> find(StreamId stream, std::uint64_t thread) const;
  // Without an effect where no key is left.
  void put(StreamId stream, std::uint64_t thread, std::uint32_t slot);
  void forget(StreamId stream, std::uint64_t thread);

  static std::size_t hash_of(StreamId stream, std::uint64_t thread) {
    return static_cast<std::size_t>(((stream.value() >> 4) ^ stream.value() ^ (thread << 7)) * 0x9E3779B97F4A7C15u >>
                                    32);
  }

 private:
  static constexpr std::size_t kKeys = 256;
  static constexpr std::uint32_t kForgotten = ~std::uint32_t{0};  // marks a key of a retired stream

  struct Key {
    std::atomic<std::uint64_t> stream{0};
    std::atomic<std::uint64_t> thread{0};
    std::atomic<std::uint32_t> slot_plus_one{0};
  };
  std::array<Key, kKeys> keys_;
};

}  // namespace tessera
