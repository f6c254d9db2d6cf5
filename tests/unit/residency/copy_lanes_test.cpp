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
    const auto lanes = CopyLanes::create(machine.driver(), kDevice, 2).take();
    EXPECT_TRUE(lanes->to_peer());
    ASSERT_EQ(lanes->count(), 3U);
    EXPECT_EQ(lanes->all().to_ullong(), 0b111U);
    std::set<StreamId> streams;
    for (const std::size_t lane : {kHostLane, lane_to_lender(0), lane_to_lender(1)}) {
      streams.insert(lanes->inbound(lane));
      streams.insert(lanes->outbound(lane));
    }
    EXPECT_EQ(streams.size(), 6U);
  }
  machine.finish();
}

TEST(CopyLanes, WithoutAPeerOnlyTheHostLanesExist) {
  SimMachine machine;
  {
    const auto lanes = CopyLanes::create(machine.driver(), kDevice, 0).take();
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
    EXPECT_EQ(CopyLanes::create(driver, kDevice, 1).status().native_code(), 999);
    driver.clear();
  }
  machine.finish();
}

}  // namespace
}  // namespace tessera
