#include "api/named_runs.hpp"

#include <algorithm>

namespace tessera {

Extent named_bytes(const Run& run, Address address) {
  const Bytes offset = address - run.address;
  if (!run.is_cut.load()) return {Bytes(), run.shape.bytes()};
  const Extents* const extents = run.extents.load();
  if (extents == nullptr) return {Bytes(), run.shape.bytes()};  // they are being replaced
  return extents->at(offset).value_or(Extent{offset, Bytes(1)});
}

Extent named_bytes(const Run& run, const AddressRange& named) {
  if (!named.bytes) return named_bytes(run, named.address);
  return {named.address - run.address, named.bytes};
}

std::optional<Extent> named_in_range(const Run& run, Address address) {
  const Run& range = *run.row;
  const Extents* const extents = range.is_cut.load() ? range.extents.load() : nullptr;
  if (extents == nullptr) return std::nullopt;
  const Bytes offset = address - range.address;
  return extents->at(offset).value_or(Extent{offset, Bytes(1)});
}

std::optional<Extent> named_in_range(const Run& run, const AddressRange& named) {
  if (!named.bytes) return named_in_range(run, named.address);
  return Extent{named.address - run.row->address, named.bytes};
}

// Without extents, the address says where the object begins.
Extent noted_bytes(const Run& run, Address address) {
  const Run& whole = run.whole();
  const Bytes offset = address - whole.address;
  const Extents* const extents = whole.is_cut.load() ? whole.extents.load() : nullptr;
  return extents == nullptr ? Extent{offset, Bytes()} : extents->at(offset).value_or(Extent{offset, Bytes()});
}

Extent noted_bytes(const Run& run, const AddressRange& named) {
  if (!named.bytes) return noted_bytes(run, named.address);
  return {named.address - run.whole().address, named.bytes};
}

Run* next_in_range(const PageMap& map, const Run& range, Address address, Address end) {
  end = std::min(end, map.high());
  while (address < end) {
    Run* const run = map.find(address);
    if (run != nullptr) return run->row == &range ? run : nullptr;
    address = Address((address.value() / kBasePage.value() + 1) * kBasePage.value());
  }
  return nullptr;
}

}  // namespace tessera
