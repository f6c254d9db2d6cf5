#include <gtest/gtest.h>

#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {
namespace {

// No lower tiers, so that evicted runs are dropped.
class FuzzRecomputesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setup_.device = 16_MiB;
    setup_.policy = "lru";
    setup_.high = 5;
    setup_.streams = 2;
    machine_ = FuzzMachine::create(setup_).take();
    player_.emplace(setup_, *machine_);
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      play(FuzzKind::kAllocate, slot);
      write(slot);
    }
  }
  void play(FuzzKind kind, std::uint32_t slot, std::uint32_t written = 0) {
    FuzzOp op;
    op.kind = kind;
    op.slots = {slot};
    op.written = written;
    op.bytes = 3_MiB;
    op.time = Nanoseconds(1000);
    player_->play(op);
  }
  void evict(std::uint32_t slot) { play(FuzzKind::kEvict, slot); }
  void write(std::uint32_t slot) { play(FuzzKind::kUse, slot, 1); }
  void read(std::uint32_t slot) { play(FuzzKind::kUse, slot); }
  // Recomputed from `from`, if that is after it; after `failures` failures.
  void set_recompute(std::uint32_t slot, std::uint32_t from, std::uint32_t failures = 0) {
    FuzzOp op;
    op.kind = FuzzKind::kSetRecompute;
    op.slots = {slot, from};
    op.variant = failures == 0 ? 1 : 0;
    op.nth = failures;
    player_->play(op);
  }
  tessera_stats stats() { return machine_->allocator().stats().snapshot().totals; }

  FuzzSetup setup_;
  std::unique_ptr<FuzzMachine> machine_;
  std::optional<FuzzPlayer> player_;
};

TEST_F(FuzzRecomputesTest, RecomputesABlockFromAnotherDroppedBlock) {
  set_recompute(0, 1);
  set_recompute(1, 0);
  evict(0);
  evict(1);
  read(0);
  player_->finish();
  EXPECT_FALSE(player_->failure()) << *player_->failure();
  EXPECT_EQ(stats().recomputes, 2U);
  EXPECT_EQ(player_->errors(), 0U);
}

TEST_F(FuzzRecomputesTest, AFailingCallbackIsATransientFault) {
  set_recompute(0, 0, 2);
  evict(0);
  for (int i = 0; i < 3; ++i) read(0);
  EXPECT_EQ(player_->errors(), 2U);
  EXPECT_EQ(player_->struck(), 2U);
  player_->finish();
  EXPECT_FALSE(player_->failure()) << *player_->failure();
  EXPECT_EQ(stats().recomputes, 1U);
}

TEST_F(FuzzRecomputesTest, AWrittenBlockIsNotRecomputed) {
  set_recompute(0, 0);
  write(0);
  evict(0);
  read(0);
  player_->finish();
  EXPECT_FALSE(player_->failure()) << *player_->failure();
  EXPECT_EQ(stats().dropped_bytes, 0U);
}

}  // namespace
}  // namespace tessera
