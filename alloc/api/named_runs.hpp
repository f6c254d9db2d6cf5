// Which runs an address means that a call names: one, or the parts of a row that the call touches.
//
// Thread safety: as the look-up that found the run: inside the gate, or while a reader of the pages exists.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "page/page_map.hpp"
#include "residency/pages/row.hpp"
#include "residency/residency.hpp"

namespace tessera {

// Bytes that a call names. 0 bytes: the object that contains the address, which is its extent, or its block.
struct AddressRange {
  Address address;
  Bytes bytes;
};

inline Address address_of(Address named) { return named; }
inline Address address_of(const AddressRange& named) { return named.address; }

// The bytes of the run's block that are meant.
Extent named_bytes(const Run& run, Address address);
Extent named_bytes(const Run& run, const AddressRange& named);
// The same of a range (row.hpp), counted from its first byte. Nothing: all of the range.
std::optional<Extent> named_in_range(const Run& range, Address address);
std::optional<Extent> named_in_range(const Run& range, const AddressRange& named);

// What is named of the run's block, or of its range, for Residency::note_named().
Extent noted_bytes(const Run& run, Address address);
Extent noted_bytes(const Run& run, const AddressRange& named);

// The run that follows at this address or, with nothing mapped there, above it, if it is in the same range and begins
// before `end`; null if there is none.
Run* next_in_range(const PageMap& map, const Run& range, Address address, Address end);
// The run in the range that is nearest above this address, or else below it; null if the range has none.
Run* nearest_in_range(const PageMap& map, const Run& range, Address address);

// The range that an address means at which nothing is mapped: the program has reserved it, and mapped other runs there.
// Null where there is none, or it is in no extent; and for bytes, which are in no run.
Run* range_around(const PageMap& map, Address address);
Run* range_around(const PageMap& map, const AddressRange& named);

// Calls add(run) for each run that is meant in a range: the range alone where that is all of it.
template <class Named, class Add>
[[gnu::always_inline]] inline void name_in_range(const PageMap& map, Run* range, const Named& named, Add add) {
  const std::optional<Extent> meant = named_in_range(*range, named);
  if (!meant) return add(range);
  const Address end = range->address + meant->end();
  Run* part = next_in_range(map, *range, range->address + meant->offset, end);
  for (; part != nullptr; part = next_in_range(map, *range, part->address + part->shape.bytes(), end)) add(part);
}

// The same of range_around(), which is rare.
template <class Named, class Add>
[[gnu::noinline, gnu::cold]] void name_around(const PageMap& map, Run* range, const Named& named, Add add) {
  name_in_range(map, range, named, add);
}

// Calls add(run) for each run that is meant: the row alone where that is all of it. An address in a row that is cut,
// but in none of its extents, means the part that contains it. `map`: where the run was found.
template <class Named, class Add>
[[gnu::noinline]] void name_parts(const PageMap& map, Run* run, const Named& named, Add add) {
  if (Run* const range = run->row) return name_in_range(map, range, named, add);
  if (!run->is_row.load(std::memory_order_acquire)) return add(run);
  const std::span<Run* const> parts = parts_in(*run, named_bytes(*run, named));
  if (parts.size() == run->parts.size()) return add(run);
  for (Run* const part : parts) add(part);
}

template <class Add>
void for_each_named(const PageMap& map, Run* run, Address address, Add add) {
  if (!run->is_cut.load(std::memory_order_relaxed)) [[likely]]
    return add(run);
  name_parts(map, run, address, add);
}

template <class Add>
void for_each_named(const PageMap& map, Run* run, const AddressRange& named, Add add) {
  const bool is_whole = !run->is_row.load(std::memory_order_relaxed) && !run->is_cut.load(std::memory_order_relaxed);
  if (is_whole) [[likely]]
    return add(run);
  name_parts(map, run, named, add);
}

// The same where the address may mean what is mapped around it: `run` contains it, or is null. False: it means nothing.
template <class Named, class Add>
[[gnu::always_inline]] inline bool for_each_meant(const PageMap& map, Run* run, const Named& named, Add add) {
  if (run != nullptr) {
    for_each_named(map, run, named, add);
    return true;
  }
  Run* const range = range_around(map, named);
  if (range != nullptr) name_around(map, range, named, add);
  return range != nullptr;
}

// The runs of one use, in order, without heap memory for the usual number. A run named several times in a row is stored
// once.
class FoundRuns {
 public:
  void add(Run* run) {
    if (run == last_) return;
    last_ = run;
    if (count_ < few_.size()) {
      few_[count_] = run;
    } else {
      if (count_ == few_.size()) many_.assign(few_.begin(), few_.end());
      many_.push_back(run);
    }
    ++count_;
  }
  std::span<Run* const> all() const {
    return count_ <= few_.size() ? std::span(few_.data(), count_) : std::span(many_);
  }

 private:
  std::array<Run*, 64> few_;  // the first count_ are set
  std::vector<Run*> many_;    // all of them, once there are more
  std::size_t count_ = 0;
  Run* last_ = nullptr;
};

}  // namespace tessera
