#include "residency/pages/bytes_by_tag.hpp"

#include <algorithm>

namespace tessera {

void BytesByTag::move(TagId tag, Location from, Location to, Bytes bytes) {
  if (from == to) return;
  ByLocation& of_tag = bytes_[tag];
  if (from != Location::kNowhere) of_tag[index_of(from)] -= bytes;
  if (to != Location::kNowhere) of_tag[index_of(to)] += bytes;
}

std::vector<BytesByTag::Sum> BytesByTag::sums() const {
  std::vector<Sum> sums;
  for (const auto& [tag, bytes] : bytes_) {
    const bool has_any = std::ranges::any_of(bytes, [](Bytes each) { return static_cast<bool>(each); });
    if (has_any) sums.push_back({tag, bytes});
  }
  return sums;
}

}  // namespace tessera
