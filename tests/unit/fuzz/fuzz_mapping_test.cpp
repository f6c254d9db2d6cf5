// Programs that map their memory themselves: right ones pass, and lost bytes would be found.
#include <gtest/gtest.h>

#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {
namespace {

class FuzzMappingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setup_.device = 8_MiB;
    setup_.host = 24_MiB;
    setup_.policy = "lru";
    setup_.high = 5;
    setup_.streams = 2;
    machine_ = FuzzMachine::create(setup_).take();
    player_.emplace(setup_, *machine_);
  }
  // Variant 0 maps an existing block nowhere.
  void map(std::uint32_t slot, std::uint32_t variant = 1) {
    FuzzOp op;
    op.kind = FuzzKind::kMap;
    op.slots = {slot};
    op.bytes = 3_MiB;
    op.variant = variant;
    player_->play(op);
  }
  void use(std::uint32_t slot, std::uint32_t written) {
    FuzzOp op;
    op.kind = FuzzKind::kUse;
    op.slots = {slot};
    op.written = written;
    op.stream = slot % 2;
    op.time = Nanoseconds(1000);
    player_->play(op);
  }
  tessera_stats stats() { return machine_->allocator().stats().snapshot().totals; }
  void expect_right() {
    player_->finish();
    EXPECT_FALSE(player_->failure()) << *player_->failure();
    EXPECT_EQ(player_->errors(), 0U);
    EXPECT_EQ(stats().live_blocks, 0U);
  }

  FuzzSetup setup_;
  std::unique_ptr<FuzzMachine> machine_;
  std::optional<FuzzPlayer> player_;
};

TEST_F(FuzzMappingTest, BytesAreRightWhereverTheBlockIsMapped) {
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    map(slot);
    use(slot, 1);
  }
  for (std::uint32_t round = 0; round < 6; ++round) {
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
      map(slot, round);
      use(slot, round % 2);
    }
  }
  EXPECT_GT(stats().evictions, 0U);
  expect_right();
}

TEST_F(FuzzMappingTest, AnAllocatedBlockIsNotMapped) {
  FuzzOp op;
  op.kind = FuzzKind::kAllocate;
  op.slots = {0};
  op.bytes = 3_MiB;
  player_->play(op);
  map(0);
  use(0, 1);
  EXPECT_EQ(stats().allocations, 1U);
  expect_right();
}

TEST_F(FuzzMappingTest, BlocksThatAreMappedNowhereAreFreed) {
  map(0);
  use(0, 1);
  map(0, 0);
  use(0, 0);
  FuzzOp op;
  op.kind = FuzzKind::kFree;
  op.slots = {0};
  player_->play(op);
  EXPECT_EQ(stats().live_blocks, 0U);
  expect_right();
}

}  // namespace
}  // namespace tessera
