#include "residency/pages/copy_lanes.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sim/fault_driver.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

TEST(CopyLanes, EachDirectionOfEachLinkHasItsOwnStream) {
  SimMachine machine;
  {
    const auto lanes = CopyLanes::create(machine.driver(), kDevice, true).take();
    EXPECT_TRUE(lanes->to_peer());
    EXPECT_EQ(std::set({lanes->inbound(Location::kHost), lanes->outbound(Location::kHost),
                        lanes->inbound(Location::kPeer), lanes->outbound(Location::kPeer)})
                  .size(),
              4U);
  }
  machine.finish();
}

TEST(CopyLanes, WithoutAPeerOnlyTheHostLanesExist) {
  SimMachine machine;
  {
    const auto lanes = CopyLanes::create(machine.driver(), kDevice, false).take();
    EXPECT_FALSE(lanes->to_peer());
    EXPECT_EQ(machine.driver().leaks().size(), 2U);
  }
  machine.finish();
}

TEST(CopyLanes, AFailedCreationLeaksNothing) {
  SimMachine machine;
  FaultDriver driver(machine.driver());
  for (std::uint64_t nth = 1; nth <= 4; ++nth) {
    driver.fail({DriverCall::kCreateStream, nth, Status(Code::kDriver, "injected", 999)});
    EXPECT_EQ(CopyLanes::create(driver, kDevice, true).status().native_code(), 999);
    driver.clear();
  }
  machine.finish();
}

}  // namespace
}  // namespace tessera
