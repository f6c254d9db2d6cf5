#include "lab/arena/liveness.hpp"

#include <gtest/gtest.h>

#include "plan_records.hpp"

namespace tessera {
namespace {

TEST(Liveness, BoundsOfThePublishedFigure) {
  const std::vector<UsageRecord> records = figure_records();
  const TimeSlots slots(records);
  EXPECT_EQ(offset_lower_bound(records, slots), Bytes(124));
  EXPECT_EQ(positional_maxima(records, slots), (std::vector<Bytes>{Bytes(64), Bytes(40), Bytes(16), Bytes(8)}));
  EXPECT_EQ(shared_lower_bound(records, slots), Bytes(128));
}

TEST(Liveness, BreadthIsTheSumOfWhatIsLive) {
  const std::vector<UsageRecord> records = {{Bytes(1), 0, 2}, {Bytes(2), 1, 1}, {Bytes(4), 2, 2}};
  EXPECT_EQ(live_bytes(records, TimeSlots(records)), (std::vector<Bytes>{Bytes(1), Bytes(3), Bytes(5)}));
}

TEST(Liveness, NothingNeedsNothing) {
  const std::vector<UsageRecord> none;
  EXPECT_EQ(offset_lower_bound(none, TimeSlots(none)), Bytes(0));
  EXPECT_EQ(shared_lower_bound(none, TimeSlots(none)), Bytes(0));
}

TEST(Liveness, BoundsAreThoseOfACountStepByStep) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<UsageRecord> records = random_records(seed, 50);
    Bytes breadth;
    std::vector<Bytes> maxima;
    for (std::uint64_t step = 0; step < 110; ++step) {
      std::vector<Bytes> live;
      Bytes sum;
      for (const UsageRecord& record : records) {
        if (record.first <= step && step <= record.last) live.push_back(record.bytes);
      }
      std::sort(live.rbegin(), live.rend());
      if (maxima.size() < live.size()) maxima.resize(live.size());
      for (std::size_t k = 0; k < live.size(); ++k) {
        maxima[k] = std::max(maxima[k], live[k]);
        sum += live[k];
      }
      breadth = std::max(breadth, sum);
    }
    EXPECT_EQ(offset_lower_bound(records, TimeSlots(records)), breadth) << "seed " << seed;
    EXPECT_EQ(positional_maxima(records, TimeSlots(records)), maxima) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tessera
