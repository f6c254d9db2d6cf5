#include "lab/arena/usage_record.hpp"

#include <fmt/core.h>

namespace tessera {
namespace {

constexpr Bytes kLargestSum{std::uint64_t{1} << 63};

}  // namespace

Status check_records(std::span<const UsageRecord> records) {
  Bytes sum;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const UsageRecord& record = records[i];
    if (record.first > record.last) {
      return Status(Code::kInvalidArgument,
                    fmt::format("record {} ends at {}, before it begins at {}", i, record.last, record.first));
    }
    if (record.last > kLatestStep) {
      return Status(Code::kInvalidArgument,
                    fmt::format("record {} ends at {}, after the latest step {}", i, record.last, kLatestStep));
    }
    if (record.bytes >= kLargestSum - sum) {
      return Status(Code::kInvalidArgument, fmt::format("records 0 to {} have 2^63 bytes or more in total", i));
    }
    sum += record.bytes;
  }
  return {};
}

Bytes naive_bytes(std::span<const UsageRecord> records) {
  Bytes sum;
  for (const UsageRecord& record : records) sum += record.bytes;
  return sum;
}

}  // namespace tessera
