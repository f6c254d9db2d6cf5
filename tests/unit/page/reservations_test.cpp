#include "page/reservations.hpp"

#include <gtest/gtest.h>

#include "base/virtual_clock.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

class ReservationsTest : public testing::Test {
 protected:
  Status validate() {
    return reserved_.validate([this](std::uint64_t window) { return space_->is_free(window); });
  }

  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB}, clock_};
  const std::unique_ptr<AddressSpace> space_ = AddressSpace::reserve(sim_, 512_MiB, 512_MiB).take();
  Reservations reserved_{*space_};
};

TEST_F(ReservationsTest, AnAddressIsInTheReservationWithItsWindow) {
  const Address start = reserved_.add(40_MiB).take(), next = reserved_.add(32_MiB).take();
  EXPECT_EQ(reserved_.bytes(), 96_MiB);
  EXPECT_EQ(reserved_.with(start)->bytes, 40_MiB);
  EXPECT_EQ(reserved_.with(start + 63_MiB)->start, start) << "whole windows";
  EXPECT_EQ(reserved_.with(next)->start, next);
  EXPECT_EQ(reserved_.with(space_->high()), nullptr);
  EXPECT_EQ(reserved_.with(Address()), nullptr);
  EXPECT_TRUE(validate().is_ok());
}

TEST_F(ReservationsTest, APlaceIsBasePagesWithinOneReservation) {
  const Address start = reserved_.add(64_MiB).take();
  EXPECT_TRUE(reserved_.contain(start + 2_MiB, 62_MiB));
  EXPECT_FALSE(reserved_.contain(start + 2_MiB, 64_MiB));
  EXPECT_FALSE(reserved_.contain(start + 1_MiB, 2_MiB));
}

TEST_F(ReservationsTest, HalfOfTheAddressesAtMost) {
  EXPECT_EQ(reserved_.add(Bytes()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(reserved_.add(space_->bytes() / 2 + 1_MiB).status().code(), Code::kOutOfMemory);
  const Address half = reserved_.add(space_->bytes() / 2).take();
  EXPECT_EQ(reserved_.add(1_MiB).status().code(), Code::kOutOfMemory);
  reserved_.remove(*reserved_.with(half));
  EXPECT_EQ(reserved_.bytes(), Bytes());
  EXPECT_EQ(space_->free_windows(), space_->windows());
}

TEST_F(ReservationsTest, AWindowWithAnotherRoleIsInvalid) {
  ASSERT_TRUE(reserved_.add(64_MiB).is_ok());
  space_->give(0, 1);
  EXPECT_EQ(validate().code(), Code::kInternal);
  ASSERT_TRUE(space_->take(1));
}

}  // namespace
}  // namespace tessera
