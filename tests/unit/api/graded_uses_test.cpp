#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using GradedUsesTest = AllocatorMachine;

Bytes on_device(Allocator& allocator, Address block) { return allocator.memory().where(block).value().tiers[0]; }

// Certain words, then words that are certain if a block begins there, then others.
TEST_F(GradedUsesTest, FetchesPossibleAddressesAsFarAsTheyFit) {
  start(small(32_MiB, 128_MiB));
  std::vector<Address> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(allocate(12_MiB));
  ASSERT_TRUE(allocator_->hints().evict(blocks).is_ok());
  const Address words[] = {blocks[0], blocks[1] + 4096_B, blocks[2], blocks[3] + 8_B, blocks[4], blocks[0] + 8_B};
  AnnouncedUse use;
  ASSERT_TRUE(
      allocator_->graded_uses().begin(GradedAddresses{words, 1, 2}, StreamId(), Access::kWrite, "k", use).is_ok());
  EXPECT_EQ(on_device(*allocator_, blocks[0]), 12_MiB);
  EXPECT_EQ(on_device(*allocator_, blocks[1]), Bytes()) << "no block begins there, and it does not fit";
  EXPECT_EQ(on_device(*allocator_, blocks[2]), 12_MiB) << "one begins there";
  EXPECT_EQ(on_device(*allocator_, blocks[3]), Bytes());
  allocator_->uses().end(use);
}

TEST_F(GradedUsesTest, FetchesPossibleAddressesInOrderBesidePinnedBlocks) {
  start(small(32_MiB, 128_MiB));
  std::vector<Address> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(allocate(8_MiB));
  ASSERT_TRUE(allocator_->hints().evict(blocks).is_ok());
  ASSERT_TRUE(allocator_->pins().pin(blocks[4]).is_ok());
  const Address words[] = {blocks[0], blocks[1] + 8_B, blocks[2], blocks[3], blocks[4] + 8_B};
  AnnouncedUse use;
  ASSERT_TRUE(
      allocator_->graded_uses().begin(GradedAddresses{words, 1, 0}, StreamId(), Access::kWrite, "k", use).is_ok());
  EXPECT_EQ(on_device(*allocator_, blocks[1]), 8_MiB);
  EXPECT_EQ(on_device(*allocator_, blocks[2]), 8_MiB);
  EXPECT_EQ(on_device(*allocator_, blocks[3]), Bytes());
  allocator_->uses().end(use);
  ASSERT_TRUE(allocator_->pins().unpin(blocks[4]).is_ok());
}

// A reservation of 48 MiB and a block, both of which may be named: the block is left out.
TEST_F(GradedUsesTest, AReservationThatDoesNotFitIsThereForWordsThatMayBeNoAddresses) {
  start(small(32_MiB, 128_MiB));
  const Address certain = allocate(4_MiB);
  const Address range = allocator_->mappable().reserve(DeviceId(), 48_MiB).value();
  std::vector<Address> handles;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Address own = allocator_->mappable().create(DeviceId(), 8_MiB).value();
    handles.push_back(allocator_->mappable().move(own, range + 8_MiB * i).value());
  }
  const Address doubtful = allocate(8_MiB);
  const Address words[] = {certain, doubtful + 8_B, handles[1] + 8_B};
  ASSERT_TRUE(allocator_->hints().evict({&doubtful, 1}).is_ok());
  AnnouncedUse use;
  ASSERT_TRUE(
      allocator_->graded_uses().begin(GradedAddresses{words, 1, 0}, StreamId(), Access::kWrite, "k", use).is_ok());
  EXPECT_EQ(on_device(*allocator_, doubtful), Bytes());
  EXPECT_EQ(on_device(*allocator_, certain), 4_MiB);
  EXPECT_EQ(allocator_->stats().snapshot().totals.zero_copy_bytes, (24_MiB).value()) << "20 MiB too much";
  for (const Address handle : handles) EXPECT_TRUE(sim_->mapping_at(handle).has_value());
  allocator_->uses().end(use);
  for (const Address handle : handles) EXPECT_TRUE(allocator_->mappable().destroy(handle).is_ok());
  EXPECT_TRUE(allocator_->mappable().unreserve(range).is_ok());
}

TEST_F(GradedUsesTest, CertainAddressesMustFit) {
  start(small(32_MiB, 128_MiB), without_host_frames());
  std::vector<Address> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(allocate(12_MiB));
  AnnouncedUse use;
  for (const GradedAddresses& words : {GradedAddresses{blocks, 3, 0}, GradedAddresses{blocks, 0, 3}}) {
    const Status begun = allocator_->graded_uses().begin(words, StreamId(), Access::kWrite, "k", use);
    EXPECT_EQ(begun.code(), Code::kOutOfMemory);
  }
}

// A word in no live block is reported by its own call, whether blocks have to be fetched or not.
TEST_F(GradedUsesTest, ReportsACertainAddressInNoLiveBlock) {
  start(small(32_MiB, 128_MiB));
  const Address live = allocate(8_MiB), gone = allocate(8_MiB);
  ASSERT_TRUE(allocator_->free(gone, kNoStream).is_ok());
  const Address words[] = {live, gone};
  for (int round = 0; round < 2; ++round) {
    const auto begin = [&](std::size_t certain, bool refuses) {
      AnnouncedUse use;
      use.refuses_strays = refuses;
      const Status graded =
          allocator_->graded_uses().begin(GradedAddresses{words, certain, 0}, StreamId(), Access::kWrite, "k", use);
      allocator_->uses().end(use);
      return graded.code();
    };
    EXPECT_EQ(begin(2, true), Code::kNotFound);
    EXPECT_EQ(begin(1, true), Code::kOk) << "it is not certain";
    EXPECT_EQ(begin(2, false), Code::kOk);
    AnnouncedUse use;
    use.refuses_strays = true;
    EXPECT_EQ(allocator_->uses().begin(words, StreamId(), Access::kWrite, Use::Kind::kGate, "k", use).code(),
              Code::kNotFound);
    allocator_->uses().end(use);
    ASSERT_TRUE(allocator_->hints().evict({&live, 1}).is_ok());
  }
}

}  // namespace
}  // namespace tessera
