#include "residency/pages/mapping_meter.hpp"

#include <algorithm>

namespace tessera {

void MappingMeter::note_mapped(std::size_t pages, Nanoseconds time, bool beside_copies) {
  (beside_copies ? beside_copies_ : alone_).note(time / pages);
}

void MappingMeter::note_unmapped(std::size_t pages, Nanoseconds time) { unmapped_.note(time / pages); }

Nanoseconds MappingMeter::copy_turn() const {
  const Nanoseconds longest = beside_copies_.ranked(7, 8);
  return longest - std::min(longest, mapped());
}

void MappingMeter::Latest::note(Nanoseconds time) { times_[noted_++ % times_.size()] = time; }

Nanoseconds MappingMeter::Latest::ranked(std::size_t part, std::size_t whole) const {
  const std::size_t count = std::min(noted_, times_.size());
  if (count == 0) return {};
  auto times = times_;
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(count * part / whole);
  std::nth_element(times.begin(), at, times.begin() + static_cast<std::ptrdiff_t>(count));
  return *at;
}

}  // namespace tessera
