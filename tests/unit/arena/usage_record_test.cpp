#include "lab/arena/usage_record.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(UsageRecord, NamesARecordThatEndsBeforeItBegins) {
  const std::vector<UsageRecord> records = {{Bytes(1), 0, 0}, {Bytes(1), 5, 4}};
  const Status status = check_records(records);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "record 1 ends at 4, before it begins at 5");
}

TEST(UsageRecord, StepsAndSumsBelowTwoToThe63AreTaken) {
  EXPECT_TRUE(check_records(std::vector<UsageRecord>{{Bytes(1), 0, kLatestStep}}).is_ok());
  EXPECT_FALSE(check_records(std::vector<UsageRecord>{{Bytes(1), 0, kLatestStep + 1}}).is_ok());
  const Bytes half{std::uint64_t{1} << 62};
  EXPECT_TRUE(check_records(std::vector<UsageRecord>{{half, 0, 1}}).is_ok());
  EXPECT_FALSE(check_records(std::vector<UsageRecord>{{half, 0, 1}, {half, 2, 3}}).is_ok());
}

TEST(UsageRecord, NaiveBytesAreTheSum) {
  EXPECT_EQ(naive_bytes(std::vector<UsageRecord>{{Bytes(3), 0, 1}, {Bytes(4), 1, 2}}), Bytes(7));
}

}  // namespace
}  // namespace tessera
