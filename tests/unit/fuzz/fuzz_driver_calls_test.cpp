#include "lab/fuzz/fuzz_player.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

class FuzzDriverCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    setup_.device = 8_MiB;
    setup_.host = 16_MiB;
    setup_.policy = "lru";
    setup_.high = 5;
    setup_.streams = 2;
    machine_ = FuzzMachine::create(setup_).take();
    player_.emplace(setup_, *machine_);
  }
  static FuzzOp allocate(std::uint32_t slot) {
    FuzzOp op;
    op.kind = FuzzKind::kAllocate;
    op.slots = {slot};
    op.bytes = 3_MiB;
    return op;
  }
  static FuzzOp use(std::uint32_t slot, std::uint32_t stream, std::uint32_t written) {
    FuzzOp op;
    op.kind = FuzzKind::kUse;
    op.slots = {slot};
    op.written = written;
    op.stream = stream;
    op.time = Nanoseconds(1000);
    return op;
  }
  static FuzzOp of(FuzzKind kind) {
    FuzzOp op;
    op.kind = kind;
    op.bytes = 2_MiB;
    return op;
  }

  FuzzSetup setup_;
  std::unique_ptr<FuzzMachine> machine_;
  std::optional<FuzzPlayer> player_;
};

TEST_F(FuzzDriverCalls, TheHeapYieldsDriverMemoryAndRegainsIt) {
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    player_->play(allocate(slot));
    player_->play(use(slot, 0, 1));
  }
  const auto capacity = [this] { return machine_->allocator().stats().snapshot().totals.device_capacity; };
  const std::uint64_t whole = capacity();
  player_->play(of(FuzzKind::kDriverTake));
  EXPECT_LT(capacity(), whole);
  EXPECT_EQ(player_->errors(), 0U);
  player_->play(of(FuzzKind::kDriverGive));
  player_->finish();
  EXPECT_FALSE(player_->failure()) << *player_->failure();
}

TEST_F(FuzzDriverCalls, DriverOutOfMemoryWithRoomIsAFailure) {
  const FrameId hidden = machine_->sim().create_frame(DeviceId(), FrameLocation::kDevice, 8_MiB).take();
  player_->play(of(FuzzKind::kDriverTake));
  EXPECT_TRUE(machine_->sim().destroy_frame(hidden).is_ok());
  ASSERT_TRUE(player_->failure());
  EXPECT_NE(player_->failure()->find("the driver found no room"), std::string::npos) << *player_->failure();
}

TEST_F(FuzzDriverCalls, ARetriedCodeLoadingLaunchFindsItsBlocks) {
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    player_->play(allocate(slot));
    player_->play(use(slot, 0, 1));
  }
  const std::uint64_t before = machine_->allocator().stats().snapshot().totals.evictions;
  FuzzOp loading = of(FuzzKind::kLoadingUse);
  loading.slots = {3};
  player_->play(loading);
  EXPECT_GT(machine_->allocator().stats().snapshot().totals.evictions, before);
  player_->finish();
  EXPECT_FALSE(player_->failure()) << *player_->failure();
  EXPECT_EQ(player_->errors(), 0U);
}

}  // namespace
}  // namespace tessera
