#include "residency/pages/extents.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

namespace tessera {
namespace {

Status refused(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

}  // namespace

Result<Extents> Extents::of(std::vector<Extent> extents, Bytes block) {
  if (extents.size() > kMost) return refused(fmt::format("{} extents exceed the limit of {}", extents.size(), kMost));
  std::ranges::sort(extents);
  Bytes end;
  for (const Extent& extent : extents) {
    const std::uint64_t offset = extent.offset.value(), bytes = extent.bytes.value();
    if (bytes == 0) return refused(fmt::format("the extent at offset {} has no bytes", offset));
    if (offset > block.value() || bytes > block.value() - offset) {
      return refused(fmt::format("the extent of {} bytes at offset {} is not inside the block of {} bytes", bytes,
                                 offset, block.value()));
    }
    if (extent.offset < end) {
      return refused(fmt::format("the extent at offset {} overlaps the one that ends at {}", offset, end.value()));
    }
    end = extent.end();
  }
  return Extents(std::move(extents));
}

std::optional<Extent> Extents::at(Bytes offset) const {
  const auto later = std::ranges::upper_bound(extents_, offset, {}, &Extent::offset);
  if (later == extents_.begin()) return std::nullopt;
  const Extent& extent = *std::prev(later);
  if (offset >= extent.end()) return std::nullopt;
  return extent;
}

}  // namespace tessera
