#include "lab/arena/inside_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace tessera {
namespace {

TEST(InsideSearch, WithoutSpansThereIsNone) { EXPECT_FALSE(InsideSearch({}, {}).best_inside({0, 100})); }

TEST(InsideSearch, AnswersAsLookingAtEverySpanDoes) {
  std::mt19937 random(5);
  for (std::size_t count : {1U, 2U, 7U, 100U}) {
    std::vector<SlotSpan> spans;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = random() % 20;
      spans.push_back({first, first + random() % 10});
    }
    std::vector<std::size_t> ranks(count);
    std::iota(ranks.begin(), ranks.end(), std::size_t{0});
    std::shuffle(ranks.begin(), ranks.end(), random);
    InsideSearch search(spans, ranks);
    std::vector<bool> out(count, false);
    for (std::size_t step = 0; step < 4 * count; ++step) {
      const std::size_t first = random() % 20;
      const SlotSpan span{first, first + random() % 20};
      std::optional<std::size_t> expected;
      for (std::size_t i = 0; i < count; ++i) {
        if (out[i] || !spans[i].inside(span)) continue;
        if (!expected || ranks[i] < ranks[*expected]) expected = i;
      }
      ASSERT_EQ(search.best_inside(span), expected);
      if (!expected || random() % 2 == 0) continue;
      search.take_out(*expected);
      out[*expected] = true;
    }
  }
}

}  // namespace
}  // namespace tessera
