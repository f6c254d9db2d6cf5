#include "lab/arena/gap_search.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "plan_records.hpp"

namespace tessera {
namespace {

TEST(GapSearch, ARecordThatTouchesTheGapsEndsDoesNotFit) {
  const std::vector<UsageRecord> records = {{Bytes(1), 3, 5}};
  const GapSearch search(records, {0});
  EXPECT_FALSE(search.first_inside({3, 9}));
  EXPECT_FALSE(search.first_inside({2, 5}));
  EXPECT_EQ(search.first_inside({2, 6}), 0U);
  EXPECT_EQ(search.first_inside({}), 0U);
}

TEST(GapSearch, AnswersAsLookingAtEveryRecordDoes) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const std::vector<UsageRecord> records = random_records(seed, 40);
    std::vector<std::size_t> members(records.size());
    std::iota(members.begin(), members.end(), std::size_t{0});
    GapSearch search(records, members);
    for (std::uint64_t after = 0; after < 60; after += 7) {
      for (std::uint64_t before = after + 1; before < 70; before += 5) {
        std::optional<std::size_t> expected;
        for (const std::size_t i : members) {
          if (records[i].first <= after || records[i].last >= before) continue;
          if (!expected || std::tie(records[i].first, records[*expected].bytes) <
                               std::tie(records[*expected].first, records[i].bytes)) {
            expected = i;
          }
        }
        ASSERT_EQ(search.first_inside({after, before}), expected) << "seed " << seed;
        if (!expected || before % 2 == 0) continue;
        search.take_out(*expected);
        std::erase(members, *expected);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
