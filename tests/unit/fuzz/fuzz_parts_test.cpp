#include <optional>

#include <gtest/gtest.h>

#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {
namespace {

// A block of 256 MiB on a device of 160 MiB can be used only by its parts.
class FuzzPartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setup_ = {
        .device = 160_MiB, .host = 1_GiB, .file = 0_B, .policy = "recency", .high = 5, .streams = 3, .objects = true};
    machine_ = FuzzMachine::create(setup_).take();
    player_.emplace(setup_, *machine_);
    FuzzOp op;
    op.kind = FuzzKind::kAllocate;
    op.bytes = 256_MiB;
    player_->play(op);
  }

  void cut(std::uint32_t variant, std::uint32_t nth) {
    FuzzOp op;
    op.kind = FuzzKind::kCut;
    op.variant = variant;
    op.nth = nth;
    player_->play(op);
  }
  // Whether each of its parts can be used in turn, and what they hold is what was written.
  bool can_be_used() {
    const std::uint64_t errors = player_->errors();
    for (std::uint32_t i = 0; i < 12; ++i) {
      FuzzOp op;
      op.kind = FuzzKind::kBlockingUse;
      op.operands = op.written = 1;
      op.variant = i;
      player_->play(op);
    }
    EXPECT_FALSE(player_->failure()) << *player_->failure();
    return player_->errors() == errors;
  }
  void TearDown() override {
    player_->finish();
    EXPECT_FALSE(player_->failure()) << *player_->failure();
    player_.reset();
  }

  FuzzSetup setup_;
  std::unique_ptr<FuzzMachine> machine_;
  std::optional<FuzzPlayer> player_;
};

constexpr std::uint32_t kExtents = 3, kObjects = 1, kObjectsTogether = 2;  // of FuzzOp::nth

TEST_F(FuzzPartsTest, ABlockIsOneObjectUntilItIsCut) {
  EXPECT_FALSE(can_be_used());
  cut(4, kExtents);
  EXPECT_TRUE(can_be_used());
}

TEST_F(FuzzPartsTest, ObjectsComeOneByOneOrTogether) {
  cut(4, kObjects);
  EXPECT_TRUE(can_be_used());
  cut(3, kObjectsTogether);
  EXPECT_TRUE(can_be_used());
  cut(4, kExtents);
  EXPECT_TRUE(can_be_used());
}

TEST_F(FuzzPartsTest, ABlockThatIsKeptWholeIsOneObject) {
  cut(4, kObjects);
  cut(7, kObjects);
  EXPECT_FALSE(can_be_used());
}

TEST_F(FuzzPartsTest, ObjectsThatOverlapMakeABlockOneObject) {
  cut(6, kObjectsTogether);
  EXPECT_FALSE(can_be_used());
}

}  // namespace
}  // namespace tessera
