// Planners that give each record a whole object, which later records may take over: greedy by size,
// by breadth, and by size improved (Pisarchyk and Lee, arXiv 2001.03288).
//
// For memory that cannot be cut at offsets: textures, frames, handles. An object is as large as the
// largest record it ever holds.
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <vector>

#include "plan/time_slots.hpp"

namespace tessera {

struct SharedPlan {
  std::vector<std::size_t> object_of;  // by record
  std::vector<Bytes> object_bytes;
  Bytes total;
};

// Falling size; the smallest object that is free for the record's whole life, else a new one.
SharedPlan share_by_size(std::span<const UsageRecord> records, const TimeSlots& slots);
// Slots by falling breadth; the smallest free object that is large enough, else the largest free
// one, which grows, else a new one.
SharedPlan share_by_breadth(std::span<const UsageRecord> records, const TimeSlots& slots);
// By the largest positional maximum that a record reaches; within one, whichever record and object
// leave the smallest idle time between them.
SharedPlan share_improved(std::span<const UsageRecord> records, const TimeSlots& slots);

}  // namespace tessera
