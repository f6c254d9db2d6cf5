#include "api/named_runs.hpp"

#include <algorithm>

namespace tessera {

namespace {

// What an address in a row that is cut means, counted from the row's first byte; nothing while the extents are being
// replaced. One in none of them gets as many bytes as `outside`.
std::optional<Extent> extent_in(const Run& row, Address address, Bytes outside) {
  const Bytes offset = address - row.address;
  if (const LiveExtents* const live = row.live_extents.load()) {
    return live->at(address, row.address).value_or(Extent{offset, outside});
  }
  const Extents* const extents = row.extents.load();
  if (extents == nullptr) return std::nullopt;
  return extents->at(offset).value_or(Extent{offset, outside});
}

}  // namespace

Extent named_bytes(const Run& run, Address address) {
  const Extent whole{Bytes(), run.shape.bytes()};
  return run.is_cut.load() ? extent_in(run, address, Bytes(1)).value_or(whole) : whole;
}

Extent named_bytes(const Run& run, const AddressRange& named) {
  if (!named.bytes) return named_bytes(run, named.address);
  return {named.address - run.address, named.bytes};
}

std::optional<Extent> named_in_range(const Run& range, Address address) {
  return range.is_cut.load() ? extent_in(range, address, Bytes(1)) : std::nullopt;
}

std::optional<Extent> named_in_range(const Run& range, const AddressRange& named) {
  if (!named.bytes) return named_in_range(range, named.address);
  return Extent{named.address - range.address, named.bytes};
}

// Without extents, the address says where the object begins.
Extent noted_bytes(const Run& run, Address address) {
  const Run& whole = run.whole();
  const Extent begins{address - whole.address, Bytes()};
  return whole.is_cut.load() ? extent_in(whole, address, Bytes()).value_or(begins) : begins;
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

Run* range_around(const PageMap& map, Address address) {
  Run* const range = map.range_at(address);
  if (range == nullptr || range->live.load(std::memory_order_relaxed) == 0) return nullptr;
  const auto extent = range->is_cut.load() ? extent_in(*range, address, Bytes()) : std::nullopt;
  return extent && !extent->bytes ? nullptr : range;
}

Run* range_around(const PageMap& map, const AddressRange& named) {
  return named.bytes ? nullptr : range_around(map, named.address);
}

Run* nearest_in_range(const PageMap& map, const Run& range, Address address) {
  const Address page((address.value() / kBasePage.value()) * kBasePage.value());
  for (Address at = page; map.range_at(at) == &range; at = at + kBasePage) {
    if (Run* const run = map.find(at)) return run->row == &range ? run : nullptr;
  }
  for (Address at = page; map.range_at(at) == &range; at = Address(at.value() - kBasePage.value())) {
    if (Run* const run = map.find(at)) return run->row == &range ? run : nullptr;
  }
  return nullptr;
}

}  // namespace tessera
