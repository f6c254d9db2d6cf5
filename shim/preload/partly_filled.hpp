// Kernel parameters that are structures with arrays of which a launch fills only the first entries.
//
// The rest is what the stack held before: addresses that earlier launches used. A launch that is taken to use them
// fetches blocks that it does not need, in another number in each iteration, so that iterations are never alike. In a
// step of GPT-2 on an H200, each concatenation named 14 to 25 blocks instead of 4, 8 GB in all (docs/hardware.md).
//
// Known are the structures of PyTorch (`CatArrayBatchedCopy`, `multi_tensor_apply_kernel`), by the kernel's name and
// the structure's size. Which entries are filled follows from the launch's grid and from the numbers beside the
// addresses. These have to agree with each other: where they do not, all words count, as in any other parameter.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::preload {

struct Grid {
  unsigned x = 0, y = 0;
};

// The number of a known structure, from 1.
enum class PartlyFilled : std::uint16_t { kNo };

// Of the parameter of this size of the kernel with this name, which may be null.
PartlyFilled partly_filled(const char* name, std::size_t bytes);

// Arrays of addresses of one size, one behind the other from the structure's beginning, and how many entries of each
// are filled. None: the structure is not what its name and size say.
struct FilledEntries {
  std::size_t arrays = 0, entries = 0, filled = 0;
};
// REQUIRES: `which` is not kNo, and the structure has its size.
FilledEntries filled_entries(PartlyFilled which, std::span<const std::byte> structure, Grid grid);

}  // namespace tessera::preload
