// The separate objects inside a block: byte ranges that work uses one by one.
//
// Programs take arenas and cut tensors out of them. An address in an arena means the extent that contains it, so only
// the pages of that extent have to be on the device for it.
//
// Thread safety: immutable.
//
// Invariants: the extents are in order, not empty, inside the block, and do not overlap.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

struct Extent {
  Bytes offset;  // from the block's first byte
  Bytes bytes;
  constexpr auto operator<=>(const Extent&) const = default;
  constexpr Bytes end() const { return offset + bytes; }
};

class Extents {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  // Of a block of `block` bytes; in any order. Errors: kInvalidArgument for an empty extent, one that is not inside the
  // block, two that overlap, and more than kMost.
  static Result<Extents> of(std::vector<Extent> extents, Bytes block);

  // The extent that contains this byte of the block.
  std::optional<Extent> at(Bytes offset) const;
  std::span<const Extent> all() const { return extents_; }

 private:
  explicit Extents(std::vector<Extent> extents) : extents_(std::move(extents)) {}

  std::vector<Extent> extents_;
};

}  // namespace tessera
