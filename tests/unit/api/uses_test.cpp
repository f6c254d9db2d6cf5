#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using UsesTest = AllocatorMachine;

TEST_F(UsesTest, AUseOfMoreThanTheDeviceIsAnErrorAtOnce) {
  start(small(32_MiB, 128_MiB), without_host_frames());
  std::vector<Address> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(allocate(4_MiB));
  AnnouncedUse use;
  const Status status = allocator_->uses().begin(blocks, StreamId(), Access::kWrite, Use::Kind::kGate, "", use);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
}

TEST_F(UsesTest, AUseOfMoreThanTheDeviceIsPartlyInHostMemory) {
  start(small(32_MiB, 128_MiB));
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 16; ++i) {
    blocks.push_back(allocate(4_MiB));
    write(blocks.back(), i, 4_MiB);
  }
  AnnouncedUse use;
  const Status status = allocator_->uses().begin(blocks, StreamId(), Access::kWrite, Use::Kind::kHold, "", use);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  for (std::uint32_t i = 0; i < 16; ++i) {
    EXPECT_TRUE(sim_->fill(blocks[i], static_cast<std::uint8_t>(i), 4_MiB, StreamId()).is_ok());
  }
  EXPECT_TRUE(sim_->synchronize(StreamId()).is_ok());
  allocator_->uses().end(use);
  EXPECT_GE(allocator_->stats().snapshot().totals.zero_copy_bytes, (32_MiB).value());
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_TRUE(holds(blocks[i], i * 0x01010101U, 4_MiB)) << i;
  for (const Address block : blocks) EXPECT_TRUE(allocator_->free(block, kNoStream).is_ok());
}

// Three pages of 32 MiB, of which the device holds one beside what is kept for other blocks. Launches that name the
// last one, by its address alone or with a length, get it there.
TEST_F(UsesTest, ThePartOfABlockThatLaunchesNameComesToTheDevice) {
  for (const bool by_range : {false, true}) {
    SCOPED_TRACE(by_range);
    start(small(64_MiB, 256_MiB));
    const Address block = allocate(96_MiB), last = block + 64_MiB;
    write(block, 7, 96_MiB);
    const auto is_in_host = [&] { return sim_->mapping_at(last)->frame.location == FrameLocation::kHost; };
    ASSERT_TRUE(is_in_host());
    const auto launch = [&] {
      AnnouncedUse use;
      const AddressRange range{last, 32_MiB};
      const Status begun =
          by_range ? allocator_->uses().begin({&range, 1}, StreamId(), Access::kRead, Use::Kind::kGate, "", use)
                   : allocator_->uses().begin({&last, 1}, StreamId(), Access::kRead, Use::Kind::kGate, "", use);
      EXPECT_TRUE(begun.is_ok()) << begun.to_string();
      allocator_->uses().end(use);
    };
    for (std::uint32_t i = 2; i < SplitReview::kLeastNames; ++i) launch();
    EXPECT_TRUE(is_in_host()) << "the write was one more use";
    launch();
    launch();
    EXPECT_FALSE(is_in_host());
    EXPECT_TRUE(holds(block, 7, 96_MiB));
    EXPECT_TRUE(allocator_->free(block, kNoStream).is_ok());
    TearDown();
    allocator_.reset();
  }
}

TEST_F(UsesTest, ABlockNamedTwiceInAUseIsUsedOnce) {
  start(small(32_MiB, 128_MiB), without_host_frames());
  std::vector<Address> words;
  for (int i = 0; i < 10; ++i) words.insert(words.end(), 3, allocate(4_MiB));
  AnnouncedUse use;
  const Status status = allocator_->uses().begin(words, StreamId(), Access::kWrite, Use::Kind::kHold, "", use);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("uses 40.0 MiB at once"), std::string_view::npos) << status.message();
}

TEST_F(UsesTest, AUseOfAForeignAddressIsIgnored) {
  start(small(32_MiB, 32_MiB));
  const Address foreign(0x1000);
  EXPECT_EQ(allocator_->free(foreign, StreamId()).code(), Code::kNotFound);
  EXPECT_EQ(allocator_->pins().pin(foreign).code(), Code::kNotFound);
  EXPECT_EQ(allocator_->uses().touch(foreign, StreamId(), Access::kRead).code(), Code::kNotFound);
  EXPECT_EQ(allocator_->memory().where(foreign).status().code(), Code::kNotFound);
  AnnouncedUse use;
  EXPECT_TRUE(allocator_->uses().begin({&foreign, 1}, StreamId(), Access::kWrite, Use::Kind::kGate, "", use).is_ok());
  allocator_->uses().end(use);
}

TEST_F(UsesTest, OneUseMayNameBlocksOfSeveralDevices) {
  start(small(32_MiB, 64_MiB));
  const Address blocks[] = {allocate(4_MiB, DeviceId(0)), allocate(4_MiB, DeviceId(1))};
  ASSERT_TRUE(allocator_->hints().evict(blocks).is_ok());
  AnnouncedUse use;
  ASSERT_TRUE(allocator_->uses().begin(blocks, kNoStream, Access::kWrite, Use::Kind::kGate, "", use).is_ok());
  EXPECT_EQ(allocator_->hints().evict(blocks).code(), Code::kBusy);
  allocator_->uses().end(use);
  for (Address block : blocks) {
    EXPECT_EQ(allocator_->memory().where(block).value().tiers[0], 4_MiB);
  }
  EXPECT_EQ(allocator_->memory().where(blocks[1]).value().device, DeviceId(1));
}

}  // namespace
}  // namespace tessera
