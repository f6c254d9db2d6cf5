// How much memory an allocator needs for blocks of mixed sizes and random lives.
//
// What it holds with memory to spare says how it caches; the least memory in which the same operations go
// through says how it fragments.
//
// Thread safety: one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "contender.hpp"

namespace tessera::bench {

struct Fragmentation {
  Bytes used, reserved;  // both at the moment when most was reserved, in the second half
  double mean = 0;       // reserved / used, over samples in the second half
};
// Mixed sizes from 512 bytes to 64 MiB, log-uniform, up to 8 GiB live, random lives.
// Nothing for a contender that cannot tell what it holds, or ran out of memory.
std::optional<Fragmentation> fragmentation(Contender& contender, int operations);

// The least memory, to 64 MiB, in which those operations go through; nothing when 64 GiB do not do.
std::optional<Bytes> least_memory(const std::function<std::unique_ptr<Contender>(Bytes)>& make,
                                  int operations);

}  // namespace tessera::bench
