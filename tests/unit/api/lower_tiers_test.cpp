// The machines and options that keep pages mapped that are evicted, and the resulting statistics.
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

TEST_F(LowerTiersTest, IsByBlockUnlessAskedFor) {
  for (const Bytes file : {0_B, 64_MiB}) {
    start(small(16_MiB, 64_MiB, file));
    fill_and_compare();
    EXPECT_EQ(mode(), "by block");
    EXPECT_FALSE(allocator_->unnamed_uses().guards_all_work());
  }
  start(backed("off"));
  fill_and_compare();
  EXPECT_EQ(mode(), "off");
}

TEST_F(LowerTiersTest, TakesTheHostBudgetWhereAllPagesAreHostBacked) {
  start(backed("host-backed"));
  fill_and_compare();
  EXPECT_EQ(mode(), "host-backed");
  const tessera_stats stats = allocator_->stats().snapshot().totals;
  EXPECT_EQ(stats.host_capacity, (64_MiB).value());
  EXPECT_GE(stats.host_peak, (32_MiB).value());
  EXPECT_TRUE(check_sums(allocator_->stats().snapshot()).is_ok());
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

TEST_F(LowerTiersTest, AFileIsRefusedByHostBacked) {
  EXPECT_EQ(backed("host-backed", 64_MiB).validate().code(), Code::kInvalidArgument);
}

// The blocks are filled by copies, and no launch names them.
TEST_F(LowerTiersTest, BlocksThatNoLaunchNamesStayReachableAndAreCounted) {
  start(small(16_MiB, 512_MiB));  // ample, as host memory is pinned in pieces
  allocator_->heaps().expect_unseen_work();
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 6; ++i) {
    blocks.push_back(allocate(8_MiB));
    const AddressRange range{blocks.back(), 8_MiB};
    AnnouncedUse use;
    ASSERT_TRUE(allocator_->uses().begin({&range, 1}, StreamId(), Access::kWrite, Use::Kind::kHold, "", use).is_ok());
    allocator_->uses().end(use);
  }
  const tessera_stats stats = allocator_->stats().snapshot().totals;
  EXPECT_GT(stats.reachable_bytes, 0U);
  EXPECT_EQ(stats.left_unreachable, 0U);
  EXPECT_TRUE(check_sums(allocator_->stats().snapshot()).is_ok());
  for (Address block : blocks) EXPECT_TRUE(allocator_->free(block, kNoStream).is_ok());
}

}  // namespace
}  // namespace tessera
