#include "lab/arena/liveness.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tessera {
namespace {

// The records that begin at each slot, and those that ended before it.
struct Turnover {
  std::vector<std::vector<std::size_t>> begin;
  std::vector<std::vector<std::size_t>> end;
};

Turnover turnover_of(std::size_t records, const TimeSlots& slots) {
  Turnover turnover{std::vector<std::vector<std::size_t>>(slots.count()),
                    std::vector<std::vector<std::size_t>>(slots.count() + 1)};
  for (std::size_t i = 0; i < records; ++i) {
    turnover.begin[slots.span(i).first].push_back(i);
    turnover.end[slots.span(i).last + 1].push_back(i);
  }
  return turnover;
}

}  // namespace

std::vector<Bytes> live_bytes(std::span<const UsageRecord> records, const TimeSlots& slots) {
  const Turnover turnover = turnover_of(records.size(), slots);
  std::vector<Bytes> live(slots.count());
  Bytes now;
  for (std::size_t slot = 0; slot < slots.count(); ++slot) {
    for (const std::size_t i : turnover.end[slot]) now -= records[i].bytes;
    for (const std::size_t i : turnover.begin[slot]) now += records[i].bytes;
    live[slot] = now;
  }
  return live;
}

std::vector<Bytes> positional_maxima(std::span<const UsageRecord> records, const TimeSlots& slots) {
  const Turnover turnover = turnover_of(records.size(), slots);
  std::vector<Bytes> live;    // decreasing
  std::vector<Bytes> maxima;  // decreasing, since `live` always is
  for (std::size_t slot = 0; slot < slots.count(); ++slot) {
    for (const std::size_t i : turnover.end[slot]) {
      live.erase(std::lower_bound(live.begin(), live.end(), records[i].bytes, std::greater<>()));
    }
    for (const std::size_t i : turnover.begin[slot]) {
      const auto place = std::upper_bound(live.begin(), live.end(), records[i].bytes, std::greater<>());
      // Only positions from here on have grown.
      std::size_t k = static_cast<std::size_t>(place - live.begin());
      live.insert(place, records[i].bytes);
      if (maxima.size() < live.size()) maxima.resize(live.size());
      for (; k < live.size(); ++k) maxima[k] = std::max(maxima[k], live[k]);
    }
  }
  return maxima;
}

Bytes offset_lower_bound(std::span<const UsageRecord> records, const TimeSlots& slots) {
  const std::vector<Bytes> live = live_bytes(records, slots);
  return live.empty() ? Bytes() : *std::max_element(live.begin(), live.end());
}

Bytes shared_lower_bound(std::span<const UsageRecord> records, const TimeSlots& slots) {
  const std::vector<Bytes> maxima = positional_maxima(records, slots);
  return std::accumulate(maxima.begin(), maxima.end(), Bytes());
}

}  // namespace tessera
