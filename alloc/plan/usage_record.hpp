// What a planner knows of a block: its bytes, and the first and last step that need it.
//
// Steps are any rising numbers: ops of a trace, layers, times. Both ends count, so a block that is
// written by step 3 and read last by step 5 meets one that begins at step 5.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

struct UsageRecord {
  Bytes bytes;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// Steps may be times; one bit is left free, so that planners can turn time around.
inline constexpr std::uint64_t kLatestStep = (std::uint64_t{1} << 63) - 1;

// What every planner REQUIRES: first <= last <= kLatestStep, and all bytes together below 2^63.
// Errors: kInvalidArgument naming the record, counted from 0.
Status check_records(std::span<const UsageRecord> records);

// The bytes without any sharing. REQUIRES: check_records.
Bytes naive_bytes(std::span<const UsageRecord> records);

}  // namespace tessera
