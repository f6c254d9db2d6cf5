#include "tier/peer_link.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "base/virtual_clock.hpp"
#include "driver/native_codes.hpp"
#include "sim/fault_driver.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

constexpr DeviceId kLinkBorrower{0}, kLinkLender{1};

SimOptions two_devices() { return {.devices = 2, .memory = 4_MiB}; }

TEST(PeerLink, ACopiedBytePatternProvesALinkAndLeaksNothing) {
  SimMachine machine(two_devices());
  EXPECT_EQ(try_peer_link(machine.driver(), kLinkBorrower, kLinkLender).to_string(), "ok");
  machine.finish();
}

TEST(PeerLink, DetectsCopiesThatWroteNothing) {
  SimOptions options = two_devices();
  options.peers_carry = false;
  SimMachine machine(options);
  EXPECT_EQ(try_peer_link(machine.driver(), kLinkBorrower, kLinkLender).code(), Code::kNotSupported);
  machine.finish();
}

TEST(PeerLink, ADeviceWithoutAccessHasNoLink) {
  SimOptions options = two_devices();
  options.apart = {{0, 1}};
  SimMachine machine(options);
  EXPECT_EQ(try_peer_link(machine.driver(), kLinkBorrower, kLinkLender).native_code(), native::kInvalidDevice);
  EXPECT_TRUE(try_peer_link(machine.driver(), kLinkLender, kLinkBorrower).is_ok());
  machine.finish();
}

TEST(PeerLink, DevicesWithoutContentsPass) {
  SimOptions options = two_devices();
  options.contents = SimContents::kNone;
  VirtualClock clock;
  SimDriver driver(options, clock);
  EXPECT_EQ(try_peer_link(driver, kLinkBorrower, kLinkLender).to_string(), "ok");
  EXPECT_TRUE(driver.leaks().empty());
}

TEST(PeerLink, EveryFailedCallIsReportedAndLeaksNothing) {
  SimMachine machine(two_devices());
  FaultDriver driver(machine.driver());
  for (const DriverCall call : {DriverCall::kCreateFrame, DriverCall::kReserve, DriverCall::kMap,
                                DriverCall::kSetAccess, DriverCall::kCreateStream, DriverCall::kCopyIn,
                                DriverCall::kCopy, DriverCall::kCopyOut, DriverCall::kSynchronizeStream}) {
    driver.fail({call, 1, Status(Code::kDriver, "injected", 999)});
    EXPECT_EQ(try_peer_link(driver, kLinkBorrower, kLinkLender).native_code(), 999) << name_of(call);
    EXPECT_TRUE(machine.driver().leaks().empty()) << name_of(call);
  }
}

TEST(PeerLink, RetriesAFailedUnmap) {
  SimMachine machine(two_devices());
  FaultDriver driver(machine.driver());
  driver.fail({DriverCall::kUnmap, 1, Status(Code::kDriver, "injected", 999)});
  EXPECT_EQ(try_peer_link(driver, kLinkBorrower, kLinkLender).to_string(), "ok");
  EXPECT_EQ(driver.failed(), 1U);
  machine.finish();
}

TEST(PeerLink, RetriesAccessThatIsNotReady) {
  SimMachine machine(two_devices());
  FaultDriver driver(machine.driver());
  driver.fail({DriverCall::kSetAccess, 2, Status(Code::kNotReady, "busy", native::kNotReady)});
  EXPECT_EQ(try_peer_link(driver, kLinkBorrower, kLinkLender).to_string(), "ok");
  EXPECT_EQ(driver.failed(), 1U);
  machine.finish();
}

}  // namespace
}  // namespace tessera
