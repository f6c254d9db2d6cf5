#include "sim/sim_pins.hpp"

#include <gtest/gtest.h>

#include "driver/native_codes.hpp"

namespace tessera {
namespace {

TEST(SimPins, ARangeHoldsWhatIsWhollyInside) {
  SimPins pins;
  ASSERT_TRUE(pins.add({0x1000, 0x1000}).is_ok());
  EXPECT_TRUE(pins.holds({0x1000, 0x1000}));
  EXPECT_TRUE(pins.holds({0x1fff, 1}));
  EXPECT_FALSE(pins.holds({0x1fff, 2}));
  EXPECT_FALSE(pins.holds({0xfff, 1}));
}

TEST(SimPins, NeighboursAreNotOneRange) {
  SimPins pins;
  ASSERT_TRUE(pins.add({0x1000, 0x1000}).is_ok());
  ASSERT_TRUE(pins.add({0x2000, 0x1000}).is_ok());
  EXPECT_FALSE(pins.holds({0x1800, 0x1000}));
}

TEST(SimPins, AnOverlapNamesBothRanges) {
  SimPins pins;
  ASSERT_TRUE(pins.add({0x1000, 0x1000}).is_ok());
  const Status status = pins.add({0x800, 0x801});
  EXPECT_EQ(status.native_code(), native::kHostMemoryAlreadyRegistered);
  EXPECT_EQ(status.message(), "register_host [0x800, 0x1001): [0x1000, 0x2000) is already registered");
  EXPECT_TRUE(pins.add({0x800, 0x800}).is_ok());
  EXPECT_EQ(pins.add({0x9000, 0}).native_code(), native::kInvalidValue);
}

TEST(SimPins, OnlyTheStartNamesARange) {
  SimPins pins;
  ASSERT_TRUE(pins.add({0x1000, 0x1000}).is_ok());
  EXPECT_EQ(pins.starting_at(reinterpret_cast<void*>(0x1001)).status().native_code(), native::kHostMemoryNotRegistered);
  const auto range = pins.starting_at(reinterpret_cast<void*>(0x1000));
  ASSERT_TRUE(range.is_ok());
  EXPECT_EQ(pins.leaks().size(), 1U);
  pins.remove(range.value());
  EXPECT_TRUE(pins.leaks().empty());
}

}  // namespace
}  // namespace tessera
