#include "page/page_map.hpp"

#include <gtest/gtest.h>

#include "residency/residency.hpp"

namespace tessera {
namespace {

constexpr Address kLow{0x7000'0000'0000};

TEST(PageMap, KnowsEveryByteOfARun) {
  auto map = PageMap::create(kLow, 64_MiB);
  ASSERT_TRUE(map.is_ok());
  tessera::Run run(kLow + 4_MiB, {0, 2}, TagId());
  map.value()->set(run.address, 2, &run);
  EXPECT_EQ(map.value()->find(kLow + 4_MiB), &run);
  EXPECT_EQ(map.value()->find(kLow + 8_MiB), nullptr);
  EXPECT_EQ(map.value()->find(Address(kLow.value() + (8_MiB).value() - 1)), &run);
  EXPECT_EQ(map.value()->find(Address(kLow.value() + (4_MiB).value() - 1)), nullptr);
}

TEST(PageMap, ForgetsWhatIsSetToNone) {
  auto map = PageMap::create(kLow, 64_MiB);
  ASSERT_TRUE(map.is_ok());
  tessera::Run run(kLow, {0, 3}, TagId());
  map.value()->set(kLow, 3, &run);
  map.value()->set(kLow + 2_MiB, 1, nullptr);
  EXPECT_EQ(map.value()->find(kLow + 2_MiB), nullptr);
  EXPECT_EQ(map.value()->find(kLow + 4_MiB), &run);
}

TEST(PageMap, KnowsTheRangeOfEveryByteOfItsWindows) {
  auto map = PageMap::create(kLow, 96_MiB);
  ASSERT_TRUE(map.is_ok());
  tessera::Run range(kLow + 32_MiB, {0, 1}, TagId());
  map.value()->set_range(range.address, 1, &range);
  EXPECT_EQ(map.value()->range_at(kLow + 32_MiB), &range);
  EXPECT_EQ(map.value()->range_at(Address(kLow.value() + (64_MiB).value() - 1)), &range);
  EXPECT_EQ(map.value()->range_at(kLow + 64_MiB), nullptr);
  EXPECT_EQ(map.value()->range_at(Address(kLow.value() + (32_MiB).value() - 1)), nullptr);
  EXPECT_EQ(map.value()->range_at(Address(kLow.value() - 1)), nullptr);
  EXPECT_EQ(map.value()->range_at(kLow + 96_MiB), nullptr);
  EXPECT_EQ(map.value()->find(kLow + 32_MiB), nullptr) << "no run is there";
  map.value()->set_range(range.address, 1, nullptr);
  EXPECT_EQ(map.value()->range_at(kLow + 32_MiB), nullptr);
}

TEST(PageMap, HasNothingOutsideOfItsRange) {
  auto map = PageMap::create(kLow, 64_MiB);
  ASSERT_TRUE(map.is_ok());
  EXPECT_EQ(map.value()->find(Address(0)), nullptr);
  EXPECT_EQ(map.value()->find(Address(kLow.value() - 1)), nullptr);
  EXPECT_EQ(map.value()->find(kLow + 64_MiB), nullptr);
  EXPECT_EQ(map.value()->find(Address(~std::uint64_t{0})), nullptr);
}

TEST(PageMap, SpansARangeFarLargerThanTheMachine) {
  auto map = PageMap::create(kLow, 16_TiB);
  ASSERT_TRUE(map.is_ok());
  tessera::Run run(kLow + 15_TiB, {1, 0}, TagId());
  map.value()->set(run.address, kBasePerLarge, &run);
  EXPECT_EQ(map.value()->find(run.address + 31_MiB), &run);
}

}  // namespace
}  // namespace tessera
