// How many bytes are live when, and the two bounds below which no plan can go.
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <vector>

#include "plan/time_slots.hpp"

namespace tessera {

// Of each slot, the bytes of all records that span it: its breadth.
std::vector<Bytes> live_bytes(std::span<const UsageRecord> records, const TimeSlots& slots);

// The k-th is the largest k-th largest live record of any slot; never rising.
std::vector<Bytes> positional_maxima(std::span<const UsageRecord> records, const TimeSlots& slots);

// The largest breadth: an arena that places records at offsets needs it.
Bytes offset_lower_bound(std::span<const UsageRecord> records, const TimeSlots& slots);
// The sum of the positional maxima: objects that each hold one record at a time need it.
Bytes shared_lower_bound(std::span<const UsageRecord> records, const TimeSlots& slots);

}  // namespace tessera
