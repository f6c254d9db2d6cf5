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

// Handles of 4 MiB side by side, as many as have no room on the device of 32 MiB.
class UsesOfReservations : public UsesTest {
 protected:
  void fill_reservation(std::size_t handles) {
    range_ = allocator_->mappable().reserve(DeviceId(), 4_MiB * handles).value();
    for (std::size_t i = 0; i < handles; ++i) {
      const Address own = allocator_->mappable().create(DeviceId(), 4_MiB).value();
      handles_.push_back(allocator_->mappable().move(own, range_ + 4_MiB * i).value());
      copy_in(i);
    }
  }
  void copy_in(std::size_t handle) {
    const std::vector<std::uint32_t> data((1_MiB).value(), static_cast<std::uint32_t>(handle) + 1);
    const AddressRange named{handles_[handle], 4_MiB};
    AnnouncedUse use;
    ASSERT_TRUE(allocator_->uses().begin({&named, 1}, StreamId(), Access::kWrite, Use::Kind::kHold, "", use).is_ok());
    EXPECT_TRUE(sim_->copy_in(named.address, data.data(), 4_MiB, StreamId()).is_ok());
    EXPECT_TRUE(sim_->synchronize(StreamId()).is_ok());
    allocator_->uses().end(use);
  }
  Status begin(Address address, Use::Kind kind, AnnouncedUse& use) {
    return allocator_->uses().begin({&address, 1}, StreamId(), Access::kRead, kind, "", use);
  }
  // Of the handles, those that work can use.
  std::size_t mapped() const {
    return static_cast<std::size_t>(std::ranges::count_if(handles_, [this](Address handle) {
      return sim_->mapping_at(handle).has_value() && sim_->mapping_at(handle + 2_MiB).has_value();
    }));
  }
  bool has_frame(Address at, FrameLocation location) const {
    const auto mapping = sim_->mapping_at(at);
    return mapping && mapping->frame.location == location;
  }
  // What a kernel finds there that has been given one address.
  void expect_bytes() {
    std::vector<std::uint32_t> data((1_MiB).value());
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      EXPECT_TRUE(sim_->copy_out(data.data(), handles_[i], 4_MiB, StreamId()).is_ok()) << i;
      EXPECT_TRUE(sim_->synchronize(StreamId()).is_ok());
      EXPECT_TRUE(all_are(data, static_cast<std::uint32_t>(i) + 1)) << i;
    }
  }
  void end() {
    for (const Address handle : handles_) EXPECT_TRUE(allocator_->mappable().destroy(handle).is_ok());
    EXPECT_TRUE(allocator_->mappable().unreserve(range_).is_ok());
    handles_.clear();
  }
  std::uint64_t zero_copy_bytes() { return allocator_->stats().snapshot().totals.zero_copy_bytes; }

  Address range_;
  std::vector<Address> handles_;
};

TEST_F(UsesOfReservations, ALaunchFindsAllOfOneThatIsLargerThanTheDevice) {
  for (const Use::Kind kind : {Use::Kind::kGate, Use::Kind::kHold}) {
    start(small(32_MiB, 128_MiB));
    fill_reservation(16);
    EXPECT_EQ(zero_copy_bytes(), 0U);
    AnnouncedUse use;
    const Status begun = begin(handles_[5] + 8_B, kind, use);
    ASSERT_TRUE(begun.is_ok()) << begun.to_string();
    expect_bytes();
    allocator_->uses().end(use);
    EXPECT_GE(zero_copy_bytes(), (32_MiB).value());
    EXPECT_LE(zero_copy_bytes(), (36_MiB).value());
    end();
    EXPECT_EQ(zero_copy_bytes(), 0U);
    TearDown();
    allocator_.reset();
  }
}

TEST_F(UsesOfReservations, ThePartThatLaunchesNameComesToTheDevice) {
  start(small(32_MiB, 128_MiB));
  fill_reservation(16);
  const auto launch = [&](Address named) {
    AnnouncedUse use;
    ASSERT_TRUE(begin(named, Use::Kind::kGate, use).is_ok());
    allocator_->uses().end(use);
  };
  launch(handles_[0]);
  for (const Address handle : handles_) launch(handle);
  const auto in_host = std::ranges::find_if(handles_, [&](Address at) { return has_frame(at, FrameLocation::kHost); });
  ASSERT_NE(in_host, handles_.end());
  for (std::uint32_t i = 16; i < SplitReview::kLeastNames; ++i) launch(*in_host);
  EXPECT_TRUE(has_frame(*in_host, FrameLocation::kHost));
  launch(*in_host);
  EXPECT_TRUE(has_frame(*in_host, FrameLocation::kDevice));
  expect_bytes();
  end();
}

TEST_F(UsesOfReservations, AUseThatMayNameLessIsRefused) {
  start(small(32_MiB, 128_MiB));
  fill_reservation(16);
  AnnouncedUse use;
  use.use.oversized = Oversized::kRefused;
  EXPECT_EQ(begin(handles_[2], Use::Kind::kGate, use).code(), Code::kOutOfMemory);
  EXPECT_EQ(zero_copy_bytes(), 0U);
  AnnouncedUse next;
  ASSERT_TRUE(begin(handles_[2], Use::Kind::kGate, next).is_ok());
  EXPECT_EQ(mapped(), 16U) << "that one was not tried in vain";
  allocator_->uses().end(next);
  end();
}

// Host memory has room for part of it only; the rest is in the file.
TEST_F(UsesOfReservations, WhereHostMemoryIsTooSmallALaunchFindsWhatIsNearest) {
  for (const Use::Kind kind : {Use::Kind::kGate, Use::Kind::kHold}) {
    start(small(32_MiB, 8_MiB, 64_MiB));
    fill_reservation(16);
    AnnouncedUse use;
    const Status begun = begin(handles_[2], kind, use);
    ASSERT_TRUE(begun.is_ok()) << begun.to_string();
    EXPECT_EQ(zero_copy_bytes(), 0U) << "it is not tried";
    EXPECT_EQ(mapped(), 8U);
    EXPECT_TRUE(has_frame(handles_[2], FrameLocation::kDevice));
    EXPECT_TRUE(has_frame(handles_[9], FrameLocation::kDevice));
    allocator_->uses().end(use);
    end();
    TearDown();
    allocator_.reset();
  }
}

// Some of the budget is for pages that are evicted, so there is less for others than is away.
TEST_F(UsesOfReservations, WhereItIsRefusedALaunchFindsWhatIsNearest) {
  for (const Use::Kind kind : {Use::Kind::kGate, Use::Kind::kHold}) {
    start(small(32_MiB, 33_MiB, 64_MiB));
    fill_reservation(16);
    AnnouncedUse use;
    const Status begun = begin(handles_[2], kind, use);
    ASSERT_TRUE(begun.is_ok()) << begun.to_string();
    EXPECT_GT(zero_copy_bytes(), 0U) << "it was tried";
    EXPECT_LT(mapped(), 16U);
    EXPECT_TRUE(sim_->mapping_at(handles_[2]).has_value());
    EXPECT_TRUE(sim_->mapping_at(handles_[3]).has_value()) << "more than is named";
    allocator_->uses().end(use);
    end();
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
