#include "driver/sim_addresses.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

class SimAddressesTest : public ::testing::TestWithParam<SimContents> {
 protected:
  const std::unique_ptr<SimAddresses> addresses_ = make_addresses(GetParam());
};

TEST_P(SimAddressesTest, RangesAreAlignedAndDisjoint) {
  const std::uint64_t bytes = (4_MiB).value(), unit = (32_MiB).value();
  const auto a = addresses_->reserve(bytes, unit);
  const auto b = addresses_->reserve(bytes, unit);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a % unit, 0U);
  EXPECT_EQ(*b % unit, 0U);
  const SimRange first{*a, bytes}, second{*b, bytes};
  EXPECT_FALSE(first.overlaps(second));
  EXPECT_TRUE(addresses_->close(first));
  EXPECT_TRUE(addresses_->release(first));
  EXPECT_TRUE(addresses_->release(second));
}

INSTANTIATE_TEST_SUITE_P(Both, SimAddressesTest,
                         ::testing::Values(SimContents::kReal, SimContents::kNone));

TEST(SimAddresses, WithoutContentsThereIsRoomForAnythingAndNothingToTouch) {
  const auto addresses = make_addresses(SimContents::kNone);
  const std::uint64_t bytes = (1024 * 64_TiB).value();
  const auto start = addresses->reserve(bytes, 1 << 21);
  ASSERT_TRUE(start);
  EXPECT_TRUE(addresses->bytes({*start, bytes}).empty());
}

}  // namespace
}  // namespace tessera
