#include "remapping.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace tessera::bench {
namespace {

constexpr std::uint64_t kPlace = 0x100000000, kBase = kBasePage.value(), kLarge = kLargePage.value();

double price_of(DriverCall call, PageClass page_class) {
  for (const Price& price : kPrices) {
    if (price.call == call) return price.of(page_bytes(page_class));
  }
  return 0;
}

class RemappingTest : public testing::Test {
 protected:
  void create(std::uint64_t bytes) {
    remapping_.note({.call = DriverCall::kCreateFrame, .operands = {0, 0, bytes}, .result = ++frame_});
  }
  void note(DriverCall call, std::uint64_t first, std::uint64_t second = 0, std::uint64_t third = 0) {
    remapping_.note({.call = call, .operands = {first, second, third}});
  }
  // A large page and two base pages, one after the other.
  void map_three() {
    std::uint64_t at = kPlace;
    for (const std::uint64_t bytes : {kLarge, kBase, kBase}) {
      create(bytes);
      note(DriverCall::kMap, std::exchange(at, at + bytes), bytes, frame_);
    }
    remapping_.begin();
  }
  double cost() const { return remapping_.costs().microseconds; }

  std::uint64_t frame_ = 0;
  Remapping remapping_;
};

TEST_F(RemappingTest, ACallOverManyMappingsCostsAsMuchAsOneForEach) {
  for (const DriverCall call : {DriverCall::kSetAccess, DriverCall::kUnmap}) {
    map_three();
    note(call, kPlace, kLarge + 2 * kBase);
    EXPECT_DOUBLE_EQ(cost(), price_of(call, PageClass::kLarge) + 2 * price_of(call, PageClass::kBase));
  }
}

TEST_F(RemappingTest, EveryCallHasAPriceForEveryClass) {
  for (const Price& price : kPrices) {
    for (const PageClass page_class : kPageClasses) EXPECT_GT(price.of(page_bytes(page_class)), 0) << price.name;
  }
}

TEST_F(RemappingTest, WhatWasUnmappedCostsNothingMore) {
  map_three();
  note(DriverCall::kUnmap, kPlace + kLarge, kBase);
  EXPECT_DOUBLE_EQ(cost(), price_of(DriverCall::kUnmap, PageClass::kBase));
  remapping_.begin();
  note(DriverCall::kSetAccess, kPlace + kLarge, 2 * kBase);
  EXPECT_DOUBLE_EQ(cost(), price_of(DriverCall::kSetAccess, PageClass::kBase)) << "one of the two is left";
}

TEST_F(RemappingTest, FramesArePricedByTheirSize) {
  create(kLarge);
  create(kBase);
  EXPECT_DOUBLE_EQ(cost(), price_of(DriverCall::kCreateFrame, PageClass::kLarge) +
                               price_of(DriverCall::kCreateFrame, PageClass::kBase));
  remapping_.begin();
  note(DriverCall::kDestroyFrame, 1);
  EXPECT_DOUBLE_EQ(cost(), price_of(DriverCall::kDestroyFrame, PageClass::kLarge));
  EXPECT_EQ(remapping_.costs().calls[1], 1U);
}

TEST_F(RemappingTest, CallsThatFailOrDoSomethingElseCostNothing) {
  remapping_.note({.call = DriverCall::kCreateFrame, .operands = {0, 0, kBase}, .code = Code::kOutOfMemory});
  note(DriverCall::kCopyIn, 1, 2, 3);
  EXPECT_EQ(cost(), 0);
}

}  // namespace
}  // namespace tessera::bench
