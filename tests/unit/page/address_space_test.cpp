#include "page/address_space.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/virtual_clock.hpp"
#include "sim/fault_driver.hpp"
#include "sim/sim_driver.hpp"

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
  const Bytes more_than_there_are = 1024_TiB;
  auto space = AddressSpace::reserve(driver_, more_than_there_are, 64_MiB);
  ASSERT_TRUE(space.is_ok());
  EXPECT_LE(space.value()->bytes(), more_than_there_are / 4);
  EXPECT_EQ(more_than_there_are % space.value()->bytes(), Bytes());
}

TEST_F(AddressSpaceTest, FailsBelowTheMinimumWithAReason) {
  driver_.fail({.call = DriverCall::kReserve,
                .nth = 1,
                .status = Status(Code::kOutOfMemory, "the reason"),
                .from_then_on = true});
  auto space = AddressSpace::reserve(driver_, 256_MiB, 64_MiB);
  EXPECT_EQ(space.status().code(), Code::kOutOfMemory);
  EXPECT_NE(space.status().message().find("the reason"), std::string::npos);
  EXPECT_EQ(driver_.failed(), 3u * 5);  // 256, 128 and 64 MiB, each with four hints and without one
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

constexpr Address kHigh{std::uint64_t{1} << 44};

TEST_F(AddressSpaceTest, LiesHighWhereTheDriverTakesHints) {
  auto first = AddressSpace::reserve(driver_, 256_MiB, 64_MiB);
  auto second = AddressSpace::reserve(driver_, 256_MiB, 64_MiB);
  ASSERT_TRUE(first.is_ok() && second.is_ok());
  EXPECT_GE(first.value()->low(), kHigh);
  EXPECT_GE(second.value()->low(), kHigh);
}

// Some drivers reject a hint that they could have ignored.
TEST_F(AddressSpaceTest, ARefusedHintIsNoRefusal) {
  driver_.fail({.call = DriverCall::kReserve, .nth = 1, .status = Status(Code::kDriver, "no such place")});
  auto space = AddressSpace::reserve(driver_, 256_MiB, 256_MiB);
  ASSERT_TRUE(space.is_ok());
  EXPECT_EQ(space.value()->bytes(), 256_MiB);
  EXPECT_EQ(driver_.failed(), 1u);
}

TEST(AddressSpace, AcceptsLowAddressesWhereTheDriverIgnoresHints) {
  SteadyClock clock;
  SimDriver sim({.memory = 64_MiB, .takes_hints = false}, clock);
  {
    auto space = AddressSpace::reserve(sim, 256_MiB, 256_MiB);
    ASSERT_TRUE(space.is_ok());
    EXPECT_EQ(space.value()->bytes(), 256_MiB);
  }
  EXPECT_TRUE(sim.leaks().empty());
}

TEST(AddressSpace, CutsAlignedWindowsOutOfARangeThatIsNot) {
  SteadyClock clock;
  // Starting two base pages after a large page boundary: later addresses are no better aligned.
  SimDriver sim({.memory = 64_MiB, .takes_hints = false, .aligns = false, .first_address = Address(0x6e99'0040'0000)},
                clock);
  {
    auto space = AddressSpace::reserve(sim, 256_MiB, 256_MiB);
    ASSERT_TRUE(space.is_ok());
    EXPECT_EQ(space.value()->low().value() % kLargePage.value(), 0u);
    EXPECT_EQ(space.value()->bytes(), 256_MiB);
  }
  EXPECT_TRUE(sim.leaks().empty()) << "all of the range is given back";
}

// Pairs of 32-bit numbers with a small or slightly negative lower half.
TEST(AddressSpace, EdgesOfFourGiBAreHandedOutLast) {
  VirtualClock clock;
  SimDriver sim({.contents = SimContents::kNone, .first_address = Address(0x3'0200'0000)}, clock);
  auto made = AddressSpace::reserve(sim, 8_GiB, 8_GiB);
  ASSERT_TRUE(made.is_ok());
  AddressSpace& space = *made.value();
  const auto is_edge = [&](std::uint64_t window) {
    const std::uint64_t low = (space.low() + kLargePage * window).value() & 0xffff'ffff;
    return low < (32_MiB).value() || low >= (4_GiB - 32_MiB).value();
  };
  std::uint64_t edges = 0;
  for (std::uint64_t i = 0; i < space.windows(); ++i) {
    const auto window = space.take(1);
    ASSERT_TRUE(window);
    edges += is_edge(*window) ? 1 : 0;
    EXPECT_TRUE(edges == 0 || i >= space.windows() - 4) << i;
  }
  EXPECT_EQ(edges, 4u);
  EXPECT_FALSE(space.take(1));
  EXPECT_TRUE(space.validate().is_ok()) << space.validate().to_string();
  space.give(0, space.windows());
  EXPECT_EQ(space.take(200), 0u) << "a row that is longer than what lies between edges";
  EXPECT_TRUE(space.validate().is_ok()) << space.validate().to_string();
  space.give(0, 200);
  EXPECT_TRUE(space.validate().is_ok()) << space.validate().to_string();
}

TEST_F(AddressSpaceTest, LeavesNothingReservedBehind) {
  { ASSERT_TRUE(AddressSpace::reserve(driver_, 128_MiB, 64_MiB).is_ok()); }
  EXPECT_TRUE(sim_.leaks().empty());
}

}  // namespace
}  // namespace tessera
