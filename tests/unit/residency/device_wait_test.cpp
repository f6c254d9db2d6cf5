// A wait for the device that has a limit, beside the thread that asks.
#include "residency/device_wait.hpp"

#include <gtest/gtest.h>

#include "driver/sim_driver.hpp"
#include "held_kernel.hpp"

namespace tessera {
namespace {

class DeviceWaitTest : public ::testing::Test {
 protected:
  SteadyClock clock_;
  SimDriver driver_{SimOptions{.memory = 64_MiB}, clock_};
  HeldKernel kernel_;
};

TEST_F(DeviceWaitTest, GoesOnWhileWorkDoesNotEnd) {
  DeviceWait wait(driver_, DeviceId(0), true);
  ASSERT_TRUE(kernel_.launch(driver_, StreamId(0)).is_ok());
  const std::uint64_t number = wait.ask();
  EXPECT_EQ(wait.query(number).code(), Code::kNotReady);
  EXPECT_EQ(wait.await(number, Nanoseconds(1'000'000)).code(), Code::kNotReady);
  kernel_.let_go();
  EXPECT_TRUE(wait.await(number, Nanoseconds(60'000'000'000)).is_ok());
  EXPECT_TRUE(wait.query(number).is_ok());
}

TEST_F(DeviceWaitTest, WhatIsAskedLaterIsOverLater) {
  DeviceWait wait(driver_, DeviceId(0), true);
  const std::uint64_t before = wait.ask();
  EXPECT_TRUE(wait.await(before, Nanoseconds(60'000'000'000)).is_ok());
  ASSERT_TRUE(kernel_.launch(driver_, StreamId(0)).is_ok());
  const std::uint64_t behind = wait.ask();
  EXPECT_TRUE(wait.query(before).is_ok());
  EXPECT_EQ(wait.query(behind).code(), Code::kNotReady);
  kernel_.let_go();
  EXPECT_TRUE(wait.await(behind, Nanoseconds(60'000'000'000)).is_ok());
}

TEST_F(DeviceWaitTest, TheCallerWaitsWhereNothingIsToGoOnBeside) {
  DeviceWait wait(driver_, DeviceId(0), false);
  EXPECT_TRUE(wait.query(wait.ask()).is_ok());
}

}  // namespace
}  // namespace tessera
