// The live bytes over time, and the two lower bounds for any plan.
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <vector>

#include "lab/arena/time_slots.hpp"

namespace tessera {

// The breadth of each slot: the bytes of all records that span it.
std::vector<Bytes> live_bytes(std::span<const UsageRecord> records, const TimeSlots& slots);

// Entry k is the maximum over all slots of the k-th largest live record; never increasing.
std::vector<Bytes> positional_maxima(std::span<const UsageRecord> records, const TimeSlots& slots);

// The maximum breadth: a lower bound for an arena that places records at offsets.
Bytes offset_lower_bound(std::span<const UsageRecord> records, const TimeSlots& slots);
// The sum of the positional maxima: a lower bound for objects that hold one record at a time.
Bytes shared_lower_bound(std::span<const UsageRecord> records, const TimeSlots& slots);

}  // namespace tessera
