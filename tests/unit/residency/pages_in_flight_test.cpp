#include "residency/eviction/pages_in_flight.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using FlyingRun = tessera::Run;  // a test has a member Run() of its own

class PagesInFlightTest : public ::testing::Test {
 protected:
  PageRef page(std::uint32_t index) { return {&run_, index}; }
  PageRef moving(std::uint32_t index, PageState state = PageState::kFetching) {
    page(index)->state = state;
    list_.add(page(index));
    return page(index);
  }
  PageRef parting(std::uint32_t index) {
    page(index)->state = PageState::kParting;
    list_.add_parting(page(index));
    return page(index);
  }
  static std::vector<std::uint32_t> indices(std::span<const PageRef> pages) {
    std::vector<std::uint32_t> indices;
    for (const PageRef& page : pages) indices.push_back(page.page);
    return indices;
  }

  FlyingRun run_{Address(std::uint64_t{1} << 26), RunShape{0, 6}, TagId()};
  std::atomic<std::uint32_t> published_{0};
  PagesInFlight list_{published_};
};

using Indices = std::vector<std::uint32_t>;

TEST_F(PagesInFlightTest, PublishesHowManyThereAre) {
  EXPECT_FALSE(list_.any());
  moving(0);
  parting(1);
  EXPECT_EQ(published_.load(), 2U);
  list_.remove(page(0));
  list_.remove(page(1));
  EXPECT_EQ(published_.load(), 0U);
  EXPECT_FALSE(list_.any());
}

TEST_F(PagesInFlightTest, RemovesTheFinishedInOrderAndStopsInBetween) {
  for (std::uint32_t i = 0; i < 5; ++i) moving(i);
  int asked = 0;
  Indices seen;
  list_.remove_moving_if([&] { return asked < 3; },
                         [&](PageRef page) {
                           ++asked;
                           seen.push_back(page.page);
                           return page.page != 1;
                         });
  EXPECT_EQ(seen, (Indices{0, 1, 2}));
  EXPECT_EQ(indices(list_.moving()), (Indices{1, 3, 4}));
  const PageRef back = page(0);
  list_.put_back({&back, 1});
  EXPECT_EQ(indices(list_.moving()), (Indices{0, 1, 3, 4}));
  EXPECT_EQ(published_.load(), 4U);
}

TEST_F(PagesInFlightTest, PagesThatAreReadyLeaveThePartingOnes) {
  for (std::uint32_t i = 0; i < 4; ++i) parting(i);
  const auto ready = list_.take_parting_if([](PageRef page) { return page.page % 2 == 1; });
  EXPECT_EQ(indices(ready), (Indices{1, 3}));
  EXPECT_EQ(indices(list_.parting()), (Indices{0, 2}));
  EXPECT_EQ(published_.load(), 2U);
}

TEST_F(PagesInFlightTest, PagesThatHaveSettledGoAndThoseOfARunThatIsForgotten) {
  moving(0);
  moving(1)->state = PageState::kResident;
  list_.remove_settled();
  EXPECT_EQ(indices(list_.moving()), Indices{0});
  parting(2);
  list_.forget(run_);
  EXPECT_FALSE(list_.any());
}

TEST_F(PagesInFlightTest, OnlyWritesFromTheHostBudgetYieldRoom) {
  moving(0, PageState::kSpilling);
  moving(1, PageState::kSpilling)->copy.staging = true;
  moving(2, PageState::kLoading);
  EXPECT_EQ(list_.yielding(), page(0).bytes());
}

}  // namespace
}  // namespace tessera
