#include "lab/fuzz/fuzz_machine.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

FuzzSetup small() {
  FuzzSetup setup;
  setup.device = 8_MiB;
  setup.host = 8_MiB;
  setup.policy = "recency";
  setup.high = 5;
  return setup;
}

TEST(FuzzMachine, FailsCallsUntilFaultsStop) {
  auto machine = FuzzMachine::create(small()).take();
  Allocator& allocator = machine->allocator();
  machine->faults().fail({DriverCall::kMap, 1, Status(Code::kDriver, "injected", 999), true});
  EXPECT_EQ(allocator.allocate(DeviceId(), kBasePage, kNoStream).status().code(), Code::kDriver);
  machine->make_peace();
  const auto block = allocator.allocate(DeviceId(), kBasePage, kNoStream);
  ASSERT_TRUE(block.is_ok()) << block.status().to_string();
  EXPECT_TRUE(allocator.free(block.value(), kNoStream).is_ok());
  EXPECT_EQ(machine->end(), std::vector<std::string>());
  EXPECT_FALSE(machine->violation());
}

TEST(FuzzMachine, ReportsLeaks) {
  auto machine = FuzzMachine::create(small()).take();
  const StreamId forgotten = machine->sim().create_stream(DeviceId()).take();
  EXPECT_EQ(machine->end().size(), 1U);
  EXPECT_TRUE(machine->sim().destroy_stream(forgotten).is_ok());
}

TEST(FuzzMachine, RefusesHostMemory) {
  RefusedHostPages pages;
  EXPECT_TRUE(pages.open(nullptr, 4_KiB));
  pages.refuse(true);
  EXPECT_FALSE(pages.open(nullptr, 4_KiB));
}

TEST(FuzzMachine, WrongSetupsAreTheAllocatorsErrors) {
  FuzzSetup setup = small();
  setup.policy = "wishful";
  auto machine = FuzzMachine::create(setup);
  if (machine.is_ok()) {
    EXPECT_FALSE(machine.value()->allocator().allocate(DeviceId(), 1_B, kNoStream).is_ok());
  }
}

}  // namespace
}  // namespace tessera
