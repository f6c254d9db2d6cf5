#include <gtest/gtest.h>

#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {
namespace {

class FuzzUsesTest : public ::testing::Test {
 protected:
  void start(Bytes device, Bytes host, Bytes file, std::string_view policy) {
    player_.reset();
    setup_ = {.device = device, .host = host, .file = file, .policy = std::string(policy), .high = 5, .streams = 3};
    machine_ = FuzzMachine::create(setup_).take();
    player_.emplace(setup_, *machine_);
  }
  void TearDown() override { player_.reset(); }

  void allocate(std::uint32_t slot, Bytes bytes, std::uint32_t tag = 0) {
    FuzzOp op;
    op.kind = FuzzKind::kAllocate;
    op.slots = {slot};
    op.bytes = bytes;
    op.tag = tag;
    player_->play(op);
  }
  void loop(std::uint32_t around, std::uint32_t rounds, std::string_view policy = {}) {
    FuzzOp op;
    op.kind = FuzzKind::kLoop;
    op.time = Nanoseconds(161'218);
    op.variant = 7;
    op.around = around;
    op.rounds = rounds;
    op.policy = policy;
    player_->play(op);
  }
  void act(FuzzKind kind, std::uint32_t slot, std::uint32_t stream) {
    FuzzOp op;
    op.kind = kind;
    op.slots = {slot};
    op.stream = stream;
    op.time = Nanoseconds(161'218);
    player_->play(op);
  }
  void finish() {
    player_->finish();
    EXPECT_FALSE(player_->failure()) << *player_->failure();
    EXPECT_EQ(player_->errors(), 0U);
  }
  std::uint64_t fetches_of_a_loop(std::string_view policy) {
    start(16_MiB, 64_MiB, 0_B, policy);
    for (std::uint32_t slot = 0; slot < 6; ++slot) allocate(slot, 4_MiB);
    loop(6, 24);
    const std::uint64_t fetches = machine_->allocator().stats().snapshot().totals.fetches;
    finish();
    return fetches;
  }

  FuzzSetup setup_;
  std::unique_ptr<FuzzMachine> machine_;
  std::optional<FuzzPlayer> player_;
};

TEST_F(FuzzUsesTest, ALoopIsLearned) {
  // Until it is learned, both decide by the past alone; then one of them knows the next uses.
  EXPECT_LT(fetches_of_a_loop("belady"), fetches_of_a_loop("lru"));
}

TEST_F(FuzzUsesTest, SwitchesThePolicyDuringALoop) {
  start(16_MiB, 64_MiB, 0_B, "vdnn-all");
  for (std::uint32_t slot = 0; slot < 6; ++slot) allocate(slot, 4_MiB);
  loop(6, 20, "auto");
  EXPECT_EQ(player_->policies_set(), 1U);
  EXPECT_EQ(machine_->allocator().stats().snapshot().facts.front().value, "auto");
  finish();
}

TEST_F(FuzzUsesTest, AnUnknownPolicyIsAFailure) {
  start(16_MiB, 64_MiB, 0_B, "lru");
  FuzzOp op;
  op.kind = FuzzKind::kSetPolicy;
  op.policy = "wishful";
  player_->play(op);
  EXPECT_TRUE(player_->failure());
  EXPECT_EQ(player_->policies_set(), 0U);
}

// A past bug: it was read from the file, dropped for lack of room and read again for as long as nothing else happened.
TEST_F(FuzzUsesTest, APlannedFetchWithoutRoomIsNotReadForever) {
  start(12_MiB, 4_MiB, 80_MiB, "superneurons");
  allocate(7, 2_MiB);
  allocate(8, Bytes(927'685));
  allocate(1, 6_MiB);
  allocate(0, 6_MiB);
  allocate(6, Bytes(1'797'152), 1);
  loop(9, 5, "capuchin");
  finish();
}

TEST_F(FuzzUsesTest, ARepeatedPatternMovesItsBlocksAndLeaksNone) {
  for (const std::uint32_t variant : {2u, 3u}) {
    start(16_MiB, 64_MiB, 0_B, "auto");
    FuzzOp op;
    op.kind = FuzzKind::kRepeatPattern;
    op.time = Nanoseconds(100'000);
    op.variant = variant;
    op.rounds = 6;
    player_->play(op);
    const auto stats = machine_->allocator().stats().snapshot();
    EXPECT_GT(stats.totals.fetches, 0U);
    EXPECT_EQ(stats.totals.live_blocks, 0U);
    finish();
  }
}

TEST_F(FuzzUsesTest, UnannouncedWorkFindsItsBlocksBehindLongWork) {
  setup_ = {.device = 16_MiB, .host = 64_MiB, .file = {}, .policy = "lru", .high = 5, .streams = 3, .unseen = true};
  player_.reset();
  machine_ = FuzzMachine::create(setup_).take();
  player_.emplace(setup_, *machine_);
  for (std::uint32_t slot = 0; slot < 8; ++slot) allocate(slot, 4_MiB);
  for (std::uint32_t slot = 0; slot < 8; ++slot) act(FuzzKind::kUnseenUse, slot, slot % 2);
  act(FuzzKind::kHoldUp, 0, 2);
  const Nanoseconds before = machine_->clock().now();
  for (std::uint32_t slot = 0; slot < 8; ++slot) act(FuzzKind::kUnseenUse, slot, slot % 2);
  EXPECT_LT(machine_->clock().now() - before, Nanoseconds(900'000'000'000)) << "nothing waits for what lasts";
  finish();
}

TEST_F(FuzzUsesTest, AKernelThatUsesABlockUnseenAndAloneFaultsWhereItIsAway) {
  setup_ = {.device = 16_MiB, .host = 64_MiB, .file = {}, .policy = "lru", .high = 5, .streams = 3, .unseen = true};
  player_.reset();
  machine_ = FuzzMachine::create(setup_).take();
  player_.emplace(setup_, *machine_);
  allocate(0, 4_MiB);
  act(FuzzKind::kUse, 0, 0);
  act(FuzzKind::kUnseenAlone, 0, 1);
  EXPECT_EQ(player_->faulted(), 0U);
  act(FuzzKind::kEvict, 0, 0);
  act(FuzzKind::kUnseenAlone, 0, 1);
  EXPECT_EQ(player_->faulted(), 1U);
  act(FuzzKind::kPrefetch, 0, 0);
  act(FuzzKind::kUnseenAlone, 0, 1);
  EXPECT_EQ(player_->faulted(), 2U) << "it is on its way in";
  act(FuzzKind::kIdle, 0, 0);
  act(FuzzKind::kIdle, 0, 0);
  act(FuzzKind::kUnseenAlone, 0, 1);
  EXPECT_EQ(player_->faulted(), 2U);
  EXPECT_EQ(player_->alone(), 4U);
  finish();
}

TEST_F(FuzzUsesTest, PartsOfABlockLargerThanTheDeviceAreUsedAndKeepTheirContents) {
  start(192_MiB, 512_MiB, 0_B, "lru");
  allocate(0, 300_MiB);
  const auto play = [this](FuzzKind kind, std::uint32_t variant, std::uint32_t written) {
    FuzzOp op;
    op.kind = kind;
    op.variant = variant;
    op.written = written;
    player_->play(op);
  };
  play(FuzzKind::kCut, 5, 0);  // into eight
  play(FuzzKind::kCut, 6, 0);  // wrongly
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t variant = 0; variant < 8; ++variant) play(FuzzKind::kUse, variant, (round + variant) % 2);
    for (std::uint32_t variant = 0; variant < 8; ++variant) play(FuzzKind::kBlockingUse, variant, 1);
  }
  EXPECT_GT(machine_->allocator().stats().snapshot().totals.fetches, 0U);
  finish();
}

}  // namespace
}  // namespace tessera
