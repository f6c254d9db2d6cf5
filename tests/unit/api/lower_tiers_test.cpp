// The machines and options that make pages host-backed, and the resulting statistics.
#include "allocator_machine.hpp"

namespace tessera {
namespace {

class LowerTiersTest : public AllocatorMachine {
 protected:
  static Options backed(const std::string& how, Bytes file = Bytes()) {
    Options options = small(16_MiB, 64_MiB, file);
    if (!file) options.file_dir = "";
    options.unhinted_access = how;
    return options;
  }
  std::string mode() {
    for (const auto& fact : allocator_->stats().snapshot().facts) {
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

TEST_F(LowerTiersTest, IsOffUnlessAskedFor) {
  start(small(16_MiB, 64_MiB));
  fill_and_compare();
  EXPECT_EQ(mode(), "off");
  EXPECT_FALSE(allocator_->unnamed_uses().guards_all_work());
}

TEST_F(LowerTiersTest, TakesTheHostBudgetWhereTheMachineHasIt) {
  for (const char* how : {"auto", "host-backed"}) {
    start(backed(how));
    fill_and_compare();
    EXPECT_EQ(mode(), "host-backed");
    const tessera_stats stats = allocator_->stats().snapshot().totals;
    EXPECT_EQ(stats.host_capacity, (64_MiB).value());
    EXPECT_GE(stats.host_peak, (32_MiB).value());
    EXPECT_TRUE(check_sums(allocator_->stats().snapshot()).is_ok());
  }
}

TEST_F(LowerTiersTest, AMachineWithoutItIsTrackedOrRefusedByName) {
  const SimOptions poor = {.memory = 256_MiB, .host_frames = false, .name = "a poor machine"};
  start(backed("auto"), poor);
  fill_and_compare();
  EXPECT_EQ(mode(), "off: host memory cannot be mapped at device addresses of a poor machine");
  start(backed("host-backed"), poor);
  const auto refused = allocator_->allocate(DeviceId(), 2_MiB, kNoStream);
  EXPECT_EQ(refused.status().code(), Code::kNotSupported);
  EXPECT_NE(refused.status().message().find("a poor machine"), std::string::npos);
}

TEST_F(LowerTiersTest, AFileIsChosenByAutoAndRefusedByHostBacked) {
  start(backed("auto", 64_MiB));
  fill_and_compare();
  EXPECT_EQ(mode(), "off: a spill file cannot be mapped at a device address");
  EXPECT_EQ(backed("host-backed", 64_MiB).validate().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
