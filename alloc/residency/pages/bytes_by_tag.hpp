// Bytes of pages by the tag of their blocks and the nearest tier that has them: where a program's memory is, at any
// time and without looking at every page.
//
// Thread safety: none; the engine's lock.
//
// Invariants: PageLedger::validate(): they are the sums over all pages.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "base/location.hpp"
#include "base/units.hpp"

namespace tessera {

class BytesByTag {
 public:
  using ByLocation = std::array<Bytes, kLocations>;
  struct Sum {
    TagId tag;
    ByLocation bytes;
    bool operator==(const Sum&) const = default;
  };

  void move(TagId tag, Location from, Location to, Bytes bytes);
  // Of tags with any bytes, in their order.
  std::vector<Sum> sums() const;

 private:
  std::map<TagId, ByLocation> bytes_;
};

}  // namespace tessera
