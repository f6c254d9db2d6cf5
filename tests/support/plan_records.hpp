// Records for planner tests: published examples, random ones, and properties of every plan.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "lab/arena/time_slots.hpp"

namespace tessera {

// The example of Pisarchyk and Lee: an arena of 124, shared objects of at least 128.
inline std::vector<UsageRecord> figure_records() {
  return {{Bytes(32), 0, 1}, {Bytes(28), 1, 4}, {Bytes(36), 2, 5}, {Bytes(16), 3, 5},
          {Bytes(8), 4, 5},  {Bytes(64), 5, 7}, {Bytes(10), 6, 8}, {Bytes(40), 7, 8}};
}

// Each record is read by the step after the step that wrote it.
inline std::vector<UsageRecord> chain_records() {
  return {{Bytes(16), 0, 1}, {Bytes(8), 1, 2}, {Bytes(64), 2, 3}, {Bytes(32), 3, 4}, {Bytes(8), 4, 5}};
}

inline std::vector<UsageRecord> branching_records() {
  return {{Bytes(32), 0, 1}, {Bytes(32), 1, 4}, {Bytes(8), 2, 5}, {Bytes(16), 3, 5}, {Bytes(8), 4, 5},
          {Bytes(64), 5, 7}, {Bytes(8), 6, 8},  {Bytes(8), 7, 8}, {Bytes(16), 8, 9}};
}

// Sizes repeat and may be zero; lifetimes are short, long, or a single step.
inline std::vector<UsageRecord> random_records(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  std::vector<UsageRecord> records;
  const std::uint64_t longest = 1 + random() % 40;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t first = random() % 64;
    records.push_back({Bytes(random() % 20), first, first + random() % longest});
  }
  return records;
}

inline bool live_together(const UsageRecord& a, const UsageRecord& b) { return a.first <= b.last && b.first <= a.last; }

// Whether no two records that are live at the same time share a byte of [0, total).
inline bool places_hold(const std::vector<UsageRecord>& records, const std::vector<Bytes>& offsets, Bytes total) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (offsets[i] + records[i].bytes > total) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (!live_together(records[i], records[j])) continue;
      if (!records[i].bytes || !records[j].bytes) continue;
      if (offsets[i] < offsets[j] + records[j].bytes && offsets[j] < offsets[i] + records[i].bytes) {
        return false;
      }
    }
  }
  return true;
}

// Whether every object is large enough, and holds one live record at a time.
inline bool objects_hold(const std::vector<UsageRecord>& records, const std::vector<std::size_t>& object_of,
                         const std::vector<Bytes>& object_bytes) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (object_of[i] >= object_bytes.size()) return false;
    if (records[i].bytes > object_bytes[object_of[i]]) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (object_of[i] == object_of[j] && live_together(records[i], records[j])) return false;
    }
  }
  return true;
}

}  // namespace tessera
