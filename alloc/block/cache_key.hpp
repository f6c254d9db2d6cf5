// The key of a cached block: it serves requests of its class and tag on its stream.
//
// Streams are compared by key. A stream's key is its id, except for the per-thread default stream: that is one
// id but a different stream in each thread, so its key identifies the thread.
//
// Thread safety: values.
#pragma once

#include <cstdint>

#include "block/size_class.hpp"
#include "residency/residency.hpp"

namespace tessera {

// The key of a block freed on a stream that was destroyed: no request has this key.
inline constexpr StreamId kRetiredStream{~std::uint64_t{1}};

// What all blocks that share pages have in common, whatever their class.
struct SharingKey {
  StreamId stream;  // by key
  TagId tag;
  constexpr auto operator<=>(const SharingKey&) const = default;
};

struct CacheKey {
  SizeClass size_class;
  StreamId stream;
  TagId tag;

  constexpr auto operator<=>(const CacheKey&) const = default;
  constexpr SharingKey sharing() const { return {stream, tag}; }
};

// A hash for tables; its upper bits are the best mixed.
constexpr std::uint64_t mixed(const CacheKey& key) {
  return (key.stream.value() >> 4 ^ key.stream.value() ^ key.tag.value() << 9) * 0x9E3779B97F4A7C15u +
         key.size_class.index * 0xC2B2AE3D27D4EB4Fu;
}

// The driver's stream objects have addresses with a clear top bit, so the keys below do not collide.
inline StreamId stream_key(StreamId stream) {
  static constinit thread_local std::uint64_t thread = 0;
  if (stream != kPerThreadStream) [[likely]]
    return stream;
  static constinit std::atomic<std::uint64_t> next_thread{0};
  if (thread == 0) thread = next_thread.fetch_add(1, std::memory_order_relaxed) + 1;
  return StreamId((std::uint64_t{1} << 63) + thread);
}

}  // namespace tessera
