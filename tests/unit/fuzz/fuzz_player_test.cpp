#include "lab/fuzz/fuzz_player.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

class FuzzPlayerTest : public ::testing::Test {
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

  FuzzSetup setup_;
  std::unique_ptr<FuzzMachine> machine_;
  std::optional<FuzzPlayer> player_;
};

TEST_F(FuzzPlayerTest, ACorrectProgramPassesAndMovesItsBlocks) {
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    player_->play(allocate(slot));
    player_->play(use(slot, slot % 2, 1));
  }
  for (std::uint32_t slot = 0; slot < 4; ++slot) player_->play(use(slot, 1, 0));
  EXPECT_GT(machine_->allocator().stats().snapshot().totals.evictions, 0U);
  player_->finish();
  EXPECT_FALSE(player_->failure()) << *player_->failure();
  EXPECT_EQ(player_->errors(), 0U);
}

TEST_F(FuzzPlayerTest, WrongDataIsAFailure) {
  player_->play(allocate(0));
  player_->play(use(0, 0, 1));
  // Overwrites the block without announcing it.
  const auto mapping = machine_->allocator().heaps().managed_range().first;
  EXPECT_TRUE(machine_->sim().synchronize(DeviceId()).is_ok());
  std::optional<SimMapping> found;
  for (Address at = mapping; !found; at = at + kBasePage) found = machine_->sim().mapping_at(at);
  EXPECT_TRUE(machine_->driver().run_kernel(StreamId(), Nanoseconds(1), {{found->address, kBasePage, 0, 99}}).is_ok());
  EXPECT_TRUE(machine_->sim().synchronize(DeviceId()).is_ok());
  player_->finish();
  ASSERT_TRUE(player_->failure());
  EXPECT_NE(player_->failure()->find("wrong data"), std::string::npos) << *player_->failure();
}

TEST_F(FuzzPlayerTest, OutOfMemoryWithRoomIsAFailure) {
  machine_->faults().fail({DriverCall::kCreateFrame, 1, Status(Code::kOutOfMemory, "injected", 2), true});
  player_->play(allocate(0));
  ASSERT_TRUE(player_->failure());
  EXPECT_NE(player_->failure()->find("allocate found no room"), std::string::npos) << *player_->failure();
}

TEST_F(FuzzPlayerTest, OutOfMemoryWithoutRoomIsNoFailure) {
  for (std::uint32_t slot = 0; slot < 8; ++slot) player_->play(allocate(slot));  // 32 MiB of 24
  EXPECT_GT(player_->errors(), 0U);
  EXPECT_FALSE(player_->failure()) << *player_->failure();
}

TEST_F(FuzzPlayerTest, AnErrorWithoutAFaultIsAFailure) {
  machine_->faults().fail({DriverCall::kMap, 1, Status(Code::kDriver, "injected", 999), false});
  player_->play(allocate(0));
  ASSERT_TRUE(player_->failure());
  EXPECT_NE(player_->failure()->find("allocate returned"), std::string::npos) << *player_->failure();
}

TEST_F(FuzzPlayerTest, AnErrorAfterAFaultIsNoFailure) {
  FuzzOp fault;
  fault.kind = FuzzKind::kDriverFault;
  fault.variant = 1;
  player_->play(fault);
  player_->play(allocate(0));
  player_->finish();
  EXPECT_FALSE(player_->failure()) << *player_->failure();
  EXPECT_EQ(player_->errors(), 1U);
  EXPECT_EQ(player_->struck(), 1U);
}

}  // namespace
}  // namespace tessera
