// Planners that assign each record a whole object, which later records may reuse: greedy by size, by breadth,
// and by size improved (Pisarchyk and Lee, arXiv 2001.03288).
//
// For memory that cannot be divided at offsets: textures, frames, handles. An object is as large as the largest
// record it ever holds.
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <vector>

#include "lab/arena/time_slots.hpp"

namespace tessera {

struct SharedPlan {
  std::vector<std::size_t> object_of;  // per record
  std::vector<Bytes> object_bytes;
  Bytes total;
};

// By decreasing size; takes the smallest object that is free for the record's whole life, else a new one.
SharedPlan share_by_size(std::span<const UsageRecord> records, const TimeSlots& slots);
// Slots by decreasing breadth; takes the smallest free object that is large enough, else the largest free one,
// which grows, else a new one.
SharedPlan share_by_breadth(std::span<const UsageRecord> records, const TimeSlots& slots);
// In groups by the largest positional maximum that a record reaches; within a group, the record and object with
// the least idle time between them come first.
SharedPlan share_improved(std::span<const UsageRecord> records, const TimeSlots& slots);

}  // namespace tessera
