// How much memory an allocator needs for blocks of mixed sizes and random lifetimes.
//
// The memory it holds when memory is ample shows how it caches; the least memory in which the same operations succeed
// shows how it fragments.
//
// Thread safety: one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "contender.hpp"

namespace tessera::bench {

struct Fragmentation {
  Bytes used, reserved;  // both at the peak of `reserved` in the second half
  double mean = 0;       // reserved / used, over samples in the second half
};
// Log-uniform sizes from 512 bytes to 64 MiB, up to 8 GiB live, random lifetimes. Empty for a contender that cannot
// report what it holds, or that ran out of memory.
std::optional<Fragmentation> fragmentation(Contender& contender, int operations);

// The least memory, to 64 MiB, in which those operations succeed; empty if 64 GiB are not enough.
std::optional<Bytes> least_memory(const std::function<std::unique_ptr<Contender>(Bytes)>& make, int operations);

}  // namespace tessera::bench
