#include "sim/sim_addresses.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

class SimAddressesTest : public ::testing::TestWithParam<SimContents> {
 protected:
  const std::unique_ptr<SimAddresses> addresses_ = make_addresses({.contents = GetParam()});
};

TEST_P(SimAddressesTest, RangesAreAlignedAndDisjoint) {
  const std::uint64_t bytes = (4_MiB).value(), unit = (32_MiB).value();
  const auto a = addresses_->reserve(bytes, unit, 0);
  const auto b = addresses_->reserve(bytes, unit, 0);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a % unit, 0U);
  EXPECT_EQ(*b % unit, 0U);
  const SimRange first{*a, bytes}, second{*b, bytes};
  EXPECT_FALSE(first.overlaps(second));
  EXPECT_TRUE(addresses_->close(first));
  EXPECT_TRUE(addresses_->release(first));
  EXPECT_TRUE(addresses_->release(second));
}

INSTANTIATE_TEST_SUITE_P(Both, SimAddressesTest, ::testing::Values(SimContents::kReal, SimContents::kNone));

TEST(SimAddresses, WithoutContentsReservesAnySizeWithoutMemory) {
  const auto addresses = make_addresses({.contents = SimContents::kNone});
  const std::uint64_t bytes = (1024 * 64_TiB).value();
  const auto start = addresses->reserve(bytes, 1 << 21, 0);
  ASSERT_TRUE(start);
  EXPECT_TRUE(addresses->bytes({*start, bytes}).empty());
}

// High unused addresses: where real drivers begin, a sanitizer reserves terabytes.
constexpr std::uint64_t kPlace = 0x6e99'0000'0000;
constexpr std::uint64_t kRangeBytes = (4_MiB).value();
constexpr std::uint64_t kPageBytes = (2_MiB).value();

TEST(SimAddresses, WithoutAHintTheyBeginWhereRealDriversDoAndGrow) {
  const auto addresses = make_addresses({});
  const auto first = addresses->reserve(kRangeBytes, kPageBytes, 0),
             second = addresses->reserve(kRangeBytes, kPageBytes, 0);
  ASSERT_TRUE(first && second);
  EXPECT_GE(*first, 0x3'0200'0000U);
  EXPECT_GE(*second, *first + kRangeBytes);
  EXPECT_LT(*second, *first + 64 * kRangeBytes) << "not far from each other";
  EXPECT_TRUE(addresses->release({*second, kRangeBytes}));
  EXPECT_EQ(addresses->reserve(kRangeBytes, kPageBytes, 0), second) << "what was given back serves again";
  EXPECT_TRUE(addresses->release({*first, kRangeBytes}));
  EXPECT_TRUE(addresses->release({*second, kRangeBytes}));
}

TEST(SimAddresses, SkipsRangesTheProcessHasMapped) {
  const auto addresses = make_addresses({.first_address = Address(kPlace)});
  const auto first = addresses->reserve(kRangeBytes, kPageBytes, 0);
  ASSERT_TRUE(first);
  const auto other = make_addresses({.first_address = Address(*first)});
  const auto behind = other->reserve(kRangeBytes, kPageBytes, 0);
  ASSERT_TRUE(behind);
  EXPECT_GE(*behind, *first + kRangeBytes);
  EXPECT_TRUE(addresses->release({*first, kRangeBytes}));
  EXPECT_TRUE(other->release({*behind, kRangeBytes}));
}

TEST(SimAddresses, AHintIsTakenIfItIsFreeAndThereIsSuchADriver) {
  const auto taking = make_addresses({});
  const auto free_place = taking->reserve(kRangeBytes, kPageBytes, kPlace);
  if (free_place != kPlace) GTEST_SKIP() << "a sanitizer keeps this place";
  const auto taken = taking->reserve(kRangeBytes, kPageBytes, kPlace);
  ASSERT_TRUE(taken);
  EXPECT_NE(taken, free_place);
  const auto ignoring = make_addresses({.takes_hints = false});
  const auto elsewhere = ignoring->reserve(kRangeBytes, kPageBytes, kPlace + 16 * kRangeBytes);
  ASSERT_TRUE(elsewhere);
  EXPECT_NE(*elsewhere, kPlace + 16 * kRangeBytes);
  EXPECT_TRUE(taking->release({*free_place, kRangeBytes}));
  EXPECT_TRUE(taking->release({*taken, kRangeBytes}));
  EXPECT_TRUE(ignoring->release({*elsewhere, kRangeBytes}));
}

TEST(SimAddresses, ReservesBesideTheHostWhereTheKernelMaps) {
  const auto addresses = make_addresses({});
  const auto place = addresses->reserve_beside_host(kRangeBytes, kPageBytes);
  ASSERT_TRUE(place);
  EXPECT_EQ(*place % kPageBytes, 0U);
  EXPECT_GE(*place, std::uint64_t{1} << 44);
  EXPECT_TRUE(addresses->release({*place, kRangeBytes}));
}

}  // namespace
}  // namespace tessera
