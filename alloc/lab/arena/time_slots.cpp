#include "lab/arena/time_slots.hpp"

#include <algorithm>

namespace tessera {

TimeSlots::TimeSlots(std::span<const UsageRecord> records) {
  std::vector<std::uint64_t> begins;
  begins.reserve(records.size());
  for (const UsageRecord& record : records) begins.push_back(record.first);
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  count_ = begins.size();

  spans_.reserve(records.size());
  for (const UsageRecord& record : records) {
    const auto first = std::lower_bound(begins.begin(), begins.end(), record.first);
    const auto beyond = std::upper_bound(begins.begin(), begins.end(), record.last);
    spans_.push_back(
        {static_cast<std::size_t>(first - begins.begin()), static_cast<std::size_t>(beyond - begins.begin()) - 1});
  }
}

}  // namespace tessera
