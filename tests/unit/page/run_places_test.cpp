#include "page/run_places.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/virtual_clock.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

constexpr Domain kOne{1, StreamId(0), TagId(7)}, kOther{2, StreamId(0), TagId(7)};

class RunPlacesTest : public testing::Test {
 protected:
  std::uint64_t take(RunShape shape, const Domain& domain) {
    const auto position = places_.take(shape, domain);
    EXPECT_TRUE(position);
    for (std::uint64_t i = 0; i < base_pages_in(shape); ++i) EXPECT_TRUE(used_.insert(*position + i).second);
    return *position;
  }
  void give(std::uint64_t position, RunShape shape, const Domain& domain) {
    places_.give(position, shape, domain);
    for (std::uint64_t i = 0; i < base_pages_in(shape); ++i) used_.erase(position + i);
  }
  Status validate() {
    return places_.validate([this](std::uint64_t page) { return used_.contains(page); });
  }

  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB}, clock_};
  const std::unique_ptr<AddressSpace> space_ = AddressSpace::reserve(sim_, 256_MiB, 256_MiB).take();
  RunPlaces places_{*space_};
  std::set<std::uint64_t> used_;  // base pages
};

TEST_F(RunPlacesTest, BasePagesOfADomainShareAWindowThatNoOtherHas) {
  const std::uint64_t first = take({0, 3}, kOne), second = take({0, 2}, kOne), other = take({0, 1}, kOther);
  EXPECT_EQ(second / kBasePerLarge, first / kBasePerLarge);
  EXPECT_NE(other / kBasePerLarge, first / kBasePerLarge);
  EXPECT_EQ(*places_.domain_of(first / kBasePerLarge), kOne);
  EXPECT_EQ(places_.base_windows(), 2U);
  EXPECT_EQ(places_.free_pages(), 2 * kBasePerLarge - 6);
  EXPECT_TRUE(validate().is_ok());
}

TEST_F(RunPlacesTest, LargePagesTakeWholeWindowsAndTheTailABaseWindow) {
  const std::uint64_t position = take({2, 1}, kOne);
  EXPECT_EQ(position % kBasePerLarge, 0U);
  EXPECT_EQ(places_.domain_of(position / kBasePerLarge), nullptr);
  EXPECT_EQ(*places_.domain_of(position / kBasePerLarge + 2), kOne);
  EXPECT_EQ(space_->free_windows(), space_->windows() - 3);
}

TEST_F(RunPlacesTest, AWindowWithoutARunIsFreeForAnyDomain) {
  const std::uint64_t first = take({0, 3}, kOne), second = take({1, 2}, kOne);
  give(first, {0, 3}, kOne);
  EXPECT_EQ(places_.base_windows(), 1U);
  give(second, {1, 2}, kOne);
  EXPECT_EQ(places_.base_windows(), 0U);
  EXPECT_EQ(space_->free_windows(), space_->windows());
  EXPECT_TRUE(validate().is_ok());
}

TEST_F(RunPlacesTest, WithoutAWindowThereIsNoPlace) {
  const auto windows = static_cast<std::uint32_t>(space_->windows());
  EXPECT_FALSE(places_.take({windows, 1}, kOne));
  take({windows, 0}, kOne);
  EXPECT_FALSE(places_.take({0, 1}, kOne));
}

TEST_F(RunPlacesTest, APageThatIsFreeAndInARunIsInvalid) {
  const std::uint64_t position = take({0, 1}, kOne);
  used_.insert(position + 1);
  EXPECT_EQ(validate().code(), Code::kInternal);
}

}  // namespace
}  // namespace tessera
