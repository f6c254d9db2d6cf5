#include "sim/sim_work.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace tessera {
namespace {

// Queried in both ways, which must agree.
std::optional<std::string> touch_of(const SimWork& work, const SimRange& range) {
  auto touch = work.touch(range);
  EXPECT_EQ(work.touches(range), touch.has_value());
  return touch;
}

TEST(SimWork, ARangeTouchesWhatItOverlaps) {
  SimWork work;
  work.name = "copy";
  work.ranges = {{0x1000, 0x100}, {0x5000, 0x10}};
  EXPECT_EQ(touch_of(work, {0x10f0, 0x1000}), "copy of [0x1000, 0x1100)");
  EXPECT_EQ(touch_of(work, {0x1100, 0x1000}), std::nullopt) << "the end is not part of it";
  EXPECT_EQ(touch_of(work, {0x0, 0x1000}), std::nullopt);
  EXPECT_TRUE(touch_of(work, {0x500f, 1}).has_value());
}

TEST(SimWork, AKernelTouchesWhatAnyAlignedWordOfItsParametersPointsInto) {
  SimWork work;
  work.name = "scale";
  work.parameters.resize(20);
  const std::uint64_t address = 0x6e5500001000;
  std::memcpy(work.parameters.data() + 8, &address, 8);
  EXPECT_EQ(touch_of(work, {0x6e5500000000, 0x2000}), "kernel scale with 0x6e5500001000 at parameter offset 8");
  EXPECT_EQ(touch_of(work, {0x6e5500000000, 0x1000}), std::nullopt);
}

TEST(SimWork, WordsBehindTheParametersEndAreNotRead) {
  SimWork work;
  work.parameters.resize(7);
  EXPECT_EQ(touch_of(work, {0, ~std::uint64_t{0}}), std::nullopt);
}

TEST(SimWork, AnAddressAtAnUnalignedOffsetIsNotSeen) {
  SimWork work;
  work.parameters.resize(16);
  const std::uint64_t address = 0x6e5500001000;
  std::memcpy(work.parameters.data() + 4, &address, 8);
  EXPECT_EQ(touch_of(work, {0x6e5500000000, 0x2000}), std::nullopt);
}

}  // namespace
}  // namespace tessera
