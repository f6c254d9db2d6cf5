#include "driver/sim_work.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace tessera {
namespace {

TEST(SimWork, ARangeTouchesWhatItOverlaps) {
  SimWork work;
  work.name = "copy";
  work.ranges = {{0x1000, 0x100}, {0x5000, 0x10}};
  EXPECT_EQ(work.touch({0x10f0, 0x1000}), "copy of [0x1000, 0x1100)");
  EXPECT_EQ(work.touch({0x1100, 0x1000}), std::nullopt) << "the end is not part of it";
  EXPECT_EQ(work.touch({0x0, 0x1000}), std::nullopt);
  EXPECT_TRUE(work.touch({0x500f, 1}).has_value());
}

TEST(SimWork, AKernelTouchesWhatAnyAlignedWordOfItsParametersPointsInto) {
  SimWork work;
  work.name = "scale";
  work.parameters.resize(20);
  const std::uint64_t address = 0x6e5500001000;
  std::memcpy(work.parameters.data() + 8, &address, 8);
  EXPECT_EQ(work.touch({0x6e5500000000, 0x2000}),
            "kernel scale with 0x6e5500001000 at parameter offset 8");
  EXPECT_EQ(work.touch({0x6e5500000000, 0x1000}), std::nullopt);
}

TEST(SimWork, AnAddressAtAnUnalignedOffsetIsNotSeen) {
  SimWork work;
  work.parameters.resize(16);
  const std::uint64_t address = 0x6e5500001000;
  std::memcpy(work.parameters.data() + 4, &address, 8);
  EXPECT_EQ(work.touch({0x6e5500000000, 0x2000}), std::nullopt);
}

}  // namespace
}  // namespace tessera
