#include "page/address_space.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "driver/fault_driver.hpp"
#include "driver/sim_driver.hpp"

namespace tessera {
namespace {

class AddressSpaceTest : public testing::Test {
 protected:
  SteadyClock clock_;
  SimDriver sim_{{.memory = 64_MiB}, clock_};
  FaultDriver driver_{sim_};
};

TEST_F(AddressSpaceTest, IsOneRangeOfAlignedWindows) {
  auto space = AddressSpace::reserve(driver_, 256_MiB, 64_MiB);
  ASSERT_TRUE(space.is_ok());
  EXPECT_EQ(space.value()->windows(), 8u);
  EXPECT_EQ(space.value()->bytes(), 256_MiB);
  EXPECT_EQ(space.value()->low().value() % kLargePage.value(), 0u);
  EXPECT_TRUE(space.value()->validate().is_ok());
}

TEST_F(AddressSpaceTest, HalvesWhatItAsksForUntilTheDriverAgrees) {
  driver_.fail({.call = DriverCall::kReserve, .nth = 1, .status = Status(Code::kOutOfMemory, "no")});
  auto space = AddressSpace::reserve(driver_, 256_MiB, 64_MiB);
  ASSERT_TRUE(space.is_ok());
  EXPECT_EQ(space.value()->bytes(), 128_MiB);
}

TEST_F(AddressSpaceTest, GivesUpBelowTheLeastAndSaysWhy) {
  driver_.fail({.call = DriverCall::kReserve,
                .nth = 1,
                .status = Status(Code::kOutOfMemory, "the reason"),
                .from_then_on = true});
  auto space = AddressSpace::reserve(driver_, 256_MiB, 64_MiB);
  EXPECT_EQ(space.status().code(), Code::kOutOfMemory);
  EXPECT_NE(space.status().message().find("the reason"), std::string::npos);
  EXPECT_EQ(driver_.failed(), 3u);  // 256, 128 and 64 MiB
}

TEST_F(AddressSpaceTest, WindowsThatComeBackAreFreeAgain) {
  auto made = AddressSpace::reserve(driver_, 128_MiB, 128_MiB);
  ASSERT_TRUE(made.is_ok());
  AddressSpace& space = *made.value();
  EXPECT_EQ(space.take(3), 0u);
  EXPECT_FALSE(space.is_free(2));
  EXPECT_FALSE(space.take(2));
  space.give(0, 3);
  EXPECT_EQ(space.take(4), 0u);
  space.give(0, 4);
}

TEST_F(AddressSpaceTest, LeavesNothingReservedBehind) {
  { ASSERT_TRUE(AddressSpace::reserve(driver_, 128_MiB, 64_MiB).is_ok()); }
  EXPECT_TRUE(sim_.leaks().empty());
}

}  // namespace
}  // namespace tessera
