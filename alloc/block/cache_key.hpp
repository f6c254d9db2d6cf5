// What a cached block can serve: requests of its class, its tag, on its stream.
//
// Streams are compared by key. A stream's key is its id, except for the per-thread default stream:
// one id, but a stream of its own in each thread, so the key names the thread as well.
//
// Thread safety: values.
#pragma once

#include <cstdint>

#include "block/size_class.hpp"
#include "residency/residency.hpp"

namespace tessera {

// Of a block that was freed on a stream which is destroyed: no request has it.
inline constexpr StreamId kRetiredStream{~std::uint64_t{1}};

// What blocks that share pages have in common, whatever their class.
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

// For tables: the upper bits are the better ones.
constexpr std::uint64_t mixed(const CacheKey& key) {
  return (key.stream.value() >> 4 ^ key.stream.value() ^ key.tag.value() << 9) *
             0x9E3779B97F4A7C15u +
         key.size_class.index * 0xC2B2AE3D27D4EB4Fu;
}

// Addresses of the driver's stream objects have the top bit clear.
inline StreamId stream_key(StreamId stream) {
  static constinit thread_local std::uint64_t thread = 0;
  if (stream != kPerThreadStream) [[likely]] return stream;
  static constinit std::atomic<std::uint64_t> next_thread{0};
  if (thread == 0) thread = next_thread.fetch_add(1, std::memory_order_relaxed) + 1;
  return StreamId((std::uint64_t{1} << 63) + thread);
}

}  // namespace tessera
