#include "residency/streams/stream_keys.hpp"

namespace tessera {

std::optional<std::uint32_t> StreamKeys::find(StreamId stream, std::uint64_t thread) const {
  const std::size_t start = hash_of(stream, thread);
  for (std::size_t i = 0; i < kKeys; ++i) {
    const Key& key = keys_[(start + i) % kKeys];
    const std::uint32_t slot_plus_one = key.slot_plus_one.load(std::memory_order_acquire);
    if (slot_plus_one == 0) break;
    if (slot_plus_one == kForgotten || key.stream.load(std::memory_order_acquire) != stream.value() ||
        key.thread.load(std::memory_order_acquire) != thread) {
      continue;
    }
    // The key may be reassigned between the loads: then the slot has changed too, or is still right.
    if (key.slot_plus_one.load(std::memory_order_relaxed) == slot_plus_one) return slot_plus_one - 1;
  }
  return std::nullopt;
}

void StreamKeys::put(StreamId stream, std::uint64_t thread, std::uint32_t slot) {
  const std::size_t start = hash_of(stream, thread);
  for (std::size_t i = 0; i < kKeys; ++i) {
    Key& key = keys_[(start + i) % kKeys];
    const std::uint32_t state = key.slot_plus_one.load(std::memory_order_relaxed);
    if (state != 0 && state != kForgotten) continue;
    key.stream.store(stream.value(), std::memory_order_release);
    key.thread.store(thread, std::memory_order_release);
    key.slot_plus_one.store(slot + 1, std::memory_order_release);
    break;
  }
}

// The handle may be reused for a new stream, which is another user.
void StreamKeys::forget(StreamId stream, std::uint64_t thread) {
  for (Key& key : keys_) {
    if (key.slot_plus_one.load() != 0 && key.stream.load() == stream.value() && key.thread.load() == thread) {
      key.slot_plus_one.store(kForgotten);
    }
  }
}

}  // namespace tessera
