// A planner's view of a block: its bytes, and the first and last step that need it.
//
// Steps are any ascending numbers: ops of a trace, layers, times. Both ends are inclusive, so a block written
// by step 3 and last read by step 5 overlaps one that begins at step 5.
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

// Steps may be times; one bit is left free so that planners can reverse time.
inline constexpr std::uint64_t kLatestStep = (std::uint64_t{1} << 63) - 1;

// The precondition of every planner: first <= last <= kLatestStep, and a total below 2^63 bytes. Errors:
// kInvalidArgument naming the record, counted from 0.
Status check_records(std::span<const UsageRecord> records);

// The total bytes without any sharing. REQUIRES: check_records succeeded.
Bytes naive_bytes(std::span<const UsageRecord> records);

}  // namespace tessera
