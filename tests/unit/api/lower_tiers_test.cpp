// The machines and options that make pages host-backed, and the resulting statistics.
#include "allocator_machine.hpp"

namespace tessera {
namespace {

class AllocatorBacking : public AllocatorMachine {
 protected:
  static Options backed(const std::string& how, Bytes file = Bytes()) {
    Options options = small(16_MiB, 64_MiB, file);
    if (!file) options.file_dir = "";
    options.unhinted_access = how;
    return options;
  }
  std::string mode() {
    for (const auto& fact : allocator_->stats().facts) {
      if (fact.name == "unhinted_access") return fact.value;
    }
    return "";
  }
  // Fills the device three times over; all bytes are intact at the end.
  void fill_and_compare() {
    std::vector<Address> blocks;
    for (std::uint32_t i = 0; i < 6; ++i) {
      blocks.push_back(allocate(8_MiB));
      write(blocks.back(), i, 8_MiB);
    }
    for (std::uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(holds(blocks[i], i, 8_MiB));
    for (Address block : blocks) EXPECT_TRUE(allocator_->free(block, kNoStream).is_ok());
  }
};

TEST_F(AllocatorBacking, IsOffUnlessAskedFor) {
  start(small(16_MiB, 64_MiB));
  fill_and_compare();
  EXPECT_EQ(mode(), "off");
  EXPECT_FALSE(allocator_->guards_all_work());
}

TEST_F(AllocatorBacking, TakesTheHostBudgetWhereTheMachineHasIt) {
  for (const char* how : {"auto", "host-backed"}) {
    start(backed(how));
    fill_and_compare();
    EXPECT_EQ(mode(), "host-backed");
    const tessera_stats stats = allocator_->stats().totals;
    EXPECT_EQ(stats.host_capacity, (64_MiB).value());
    EXPECT_GE(stats.host_peak, (32_MiB).value());
    EXPECT_TRUE(check_sums(allocator_->stats()).is_ok());
  }
}

TEST_F(AllocatorBacking, AMachineWithoutItIsTrackedOrRefusedByName) {
  const SimOptions poor = {.memory = 256_MiB, .host_frames = false, .name = "a poor machine"};
  start(backed("auto"), poor);
  fill_and_compare();
  EXPECT_EQ(mode(), "off: host memory cannot be mapped at device addresses of a poor machine");
  start(backed("host-backed"), poor);
  const auto refused = allocator_->allocate(DeviceId(), 2_MiB, kNoStream);
  EXPECT_EQ(refused.status().code(), Code::kNotSupported);
  EXPECT_NE(refused.status().message().find("a poor machine"), std::string::npos);
}

TEST_F(AllocatorBacking, AFileIsChosenByAutoAndRefusedByHostBacked) {
  start(backed("auto", 64_MiB));
  fill_and_compare();
  EXPECT_EQ(mode(), "off: a spill file cannot be mapped at a device address");
  EXPECT_EQ(backed("host-backed", 64_MiB).validate().code(), Code::kInvalidArgument);
}

TEST_F(AllocatorBacking, WorkThatNamesNoBlockPassesTheGatesOfAllDevices) {
  start(backed("host-backed"));
  const Address first = allocate(2_MiB), second = allocate(2_MiB, DeviceId(1));
  write(first, 1, 2_MiB);
  AnnouncedUse use;
  ASSERT_TRUE(allocator_->begin_use(std::span<const Address>(), StreamId(0), Access::kWrite, Use::Kind::kGate, "k", use)
                  .is_ok());
  EXPECT_EQ(use.gates, 3U);
  EXPECT_EQ(use.heap, nullptr);
  allocator_->end_use(use);
  EXPECT_EQ(use.gates, 0U);
  EXPECT_TRUE(allocator_->evict({&first, 1}).is_ok()) << "the gate can close";
  EXPECT_TRUE(allocator_->evict({&second, 1}).is_ok());
}

TEST_F(AllocatorBacking, WithoutItWorkThatNamesNoBlockIsNotLookedAt) {
  start(small(16_MiB, 64_MiB));
  allocate(2_MiB);
  AnnouncedUse use;
  ASSERT_TRUE(allocator_->begin_use(std::span<const Address>(), StreamId(0), Access::kWrite, Use::Kind::kGate, "k", use)
                  .is_ok());
  EXPECT_EQ(use.gates, 0U);
}

}  // namespace
}  // namespace tessera
