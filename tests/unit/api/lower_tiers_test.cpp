// The machines and options that keep pages mapped that are evicted, and the resulting statistics.
#include <algorithm>
#include <vector>

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

// Of blocks three times as large as the device, two thirds are not on it. Host memory is ample, as it is pinned in
// pieces.
class UnseenBlocksTest : public LowerTiersTest {
 protected:
  static constexpr std::uint32_t kBlocks = 6;

  UnseenBlocksTest() {
    start(small(16_MiB, 512_MiB));
    allocator_->heaps().expect_unseen_work();
  }
  void fill(Address block) {
    const AddressRange range{block, 8_MiB};
    AnnouncedUse use;
    ASSERT_TRUE(
        allocator_->uses().begin({&range, 1}, StreamId(), Access::kWrite, Use::Kind::kHold, "copy", use).is_ok());
    allocator_->uses().end(use);
  }
  void launch(Address block) {
    AnnouncedUse use;
    const Status begun =
        allocator_->uses().begin({&block, 1}, StreamId(), Access::kWrite, Use::Kind::kGate, "kernel", use);
    ASSERT_TRUE(begun.is_ok()) << begun.to_string();
    allocator_->uses().end(use);
  }
  // Filled by copies; no launch names them.
  std::vector<Address> filled_blocks() {
    std::vector<Address> blocks;
    for (std::uint32_t i = 0; i < kBlocks; ++i) {
      blocks.push_back(allocate(8_MiB));
      fill(blocks.back());
    }
    return blocks;
  }
  void expect_reachable(Bytes bytes) {
    const tessera_stats stats = allocator_->stats().snapshot().totals;
    EXPECT_EQ(stats.reachable_bytes, bytes.value());
    EXPECT_EQ(stats.left_unreachable, 0U);
    EXPECT_TRUE(check_sums(allocator_->stats().snapshot()).is_ok());
  }
  void free(const std::vector<Address>& blocks, StreamId stream) {
    for (const Address block : blocks) EXPECT_TRUE(allocator_->free(block, stream).is_ok());
  }
};

TEST_F(UnseenBlocksTest, AllThatLeavesStaysReachableAndIsCounted) {
  const std::vector<Address> blocks = filled_blocks();
  expect_reachable(32_MiB);
  free(blocks, kNoStream);
}

// In the runs of blocks that launches have named, in an order that they repeat.
TEST_F(UnseenBlocksTest, TheLifeOfTheBlockBeforeMakesNoDifference) {
  for (const StreamId freed_on : {kNoStream, StreamId()}) {
    std::vector<Address> before;
    for (std::uint32_t i = 0; i < kBlocks; ++i) before.push_back(allocate(8_MiB));
    for (std::uint32_t round = 0; round < 40; ++round) {
      for (const Address block : before) launch(block);
    }
    free(before, freed_on);
    const std::vector<Address> blocks = filled_blocks();
    EXPECT_NE(std::ranges::find_first_of(blocks, before), blocks.end()) << "some are in recycled runs";
    expect_reachable(32_MiB);
    free(blocks, kNoStream);
  }
}

}  // namespace
}  // namespace tessera
