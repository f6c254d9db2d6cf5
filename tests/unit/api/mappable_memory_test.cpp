// Blocks that the program maps, in the complete allocator: memory answers, tags, sleep, and out of memory.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

class MappableMemoryTest : public AllocatorMachine {
 protected:
  Address mapped(Bytes bytes) {
    const Address range = allocator_->mappable().reserve(DeviceId(), bytes).value();
    const Address own = allocator_->mappable().create(DeviceId(), bytes).value();
    EXPECT_EQ(allocator_->mappable().move(own, range).value(), range);
    return range;
  }
  void end(Address block) {
    EXPECT_TRUE(allocator_->mappable().destroy(block).is_ok());
    EXPECT_TRUE(allocator_->mappable().unreserve(block).is_ok());
  }
};

TEST_F(MappableMemoryTest, TheyMoveWithAllOtherBlocks) {
  start(small(32_MiB, 128_MiB));
  const Address first = mapped(16_MiB), second = mapped(16_MiB), plain = allocate(16_MiB);
  write(first, 1, 16_MiB);
  write(second, 2, 16_MiB);
  write(plain, 3, 16_MiB);
  EXPECT_TRUE(holds(first, 1, 16_MiB));
  EXPECT_TRUE(holds(second, 2, 16_MiB));
  EXPECT_TRUE(holds(plain, 3, 16_MiB));
  end(first);
  EXPECT_TRUE(holds(second, 2, 16_MiB));
  end(second);
}

TEST_F(MappableMemoryTest, ACreatedBlockLowersWhatIsFreeAsAnAllocatedOneDoes) {
  start(small(32_MiB, 128_MiB));
  const Address plain = allocate(4_MiB);
  const Bytes before = allocator_->memory().info(DeviceId()).value().free;
  const Address own = allocator_->mappable().create(DeviceId(), 8_MiB).value();
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, before - 8_MiB);
  EXPECT_TRUE(allocator_->mappable().destroy(own).is_ok());
  EXPECT_EQ(allocator_->memory().info(DeviceId()).value().free, before);
  EXPECT_TRUE(allocator_->free(plain, kNoStream).is_ok());
}

TEST_F(MappableMemoryTest, ItsTagSleepsAndWakesMappedOrNot) {
  start(small(32_MiB, 128_MiB));
  ASSERT_TRUE(TagStack::push(allocator_->tags().intern("weights").value()).is_ok());
  const Address block = mapped(6_MiB);
  ASSERT_TRUE(TagStack::pop().is_ok());
  write(block, 5, 6_MiB);
  EXPECT_EQ(allocator_->hints().sleep("weights").value().moved, 6_MiB);
  const Address own = allocator_->mappable().move(block, std::nullopt).value();
  EXPECT_EQ(allocator_->hints().wake("weights").value().moved, 6_MiB);
  EXPECT_EQ(allocator_->mappable().move(own, block).value(), block);
  EXPECT_TRUE(holds(block, 5, 6_MiB));
  end(block);
}

TEST_F(MappableMemoryTest, WhatNeverFitsIsRefusedWhenItIsCreated) {
  start(small(32_MiB, 64_MiB));
  EXPECT_EQ(allocator_->mappable().create(DeviceId(), 34_MiB).status().code(), Code::kOutOfMemory);
  std::vector<Address> blocks;
  Result<Address> made = allocator_->mappable().create(DeviceId(), 16_MiB);
  for (; made.is_ok() && blocks.size() < 100; made = allocator_->mappable().create(DeviceId(), 16_MiB)) {
    blocks.push_back(made.value());
  }
  EXPECT_EQ(made.status().code(), Code::kOutOfMemory);
  EXPECT_GE(blocks.size(), 5u);
  for (const Address block : blocks) EXPECT_TRUE(allocator_->mappable().destroy(block).is_ok());
  EXPECT_EQ(allocator_->mappable().destroy(Address(64)).code(), Code::kNotFound);
  EXPECT_EQ(allocator_->mappable().move(Address(64), std::nullopt).status().code(), Code::kNotFound);
  EXPECT_EQ(allocator_->mappable().unreserve(Address(64)).code(), Code::kNotFound);
}

TEST_F(MappableMemoryTest, CachedBlocksMakeRoomInTheHeap) {
  start(small(32_MiB, 0_B));
  const Address plain = allocate(24_MiB);
  EXPECT_TRUE(allocator_->free(plain, kNoStream).is_ok());
  const auto block = allocator_->mappable().create(DeviceId(), 24_MiB);
  ASSERT_TRUE(block.is_ok()) << block.status().to_string();
  EXPECT_TRUE(allocator_->mappable().destroy(block.value()).is_ok());
}

// A segment of handles of 4 MiB, and what launches get of it.
class SegmentTest : public MappableMemoryTest {
 protected:
  void start_with(Bytes device, std::size_t handles) {
    start(small(device, 256_MiB), without_host_frames());
    segment_ = allocator_->mappable().reserve(DeviceId(), 256_MiB).value();
    for (std::size_t i = 0; i < handles; ++i) map(i);
  }
  void map(std::size_t i) {
    const Address own = allocator_->mappable().create(DeviceId(), 4_MiB).value();
    EXPECT_EQ(allocator_->mappable().move(own, at(i)).value(), at(i));
    mapped_.insert(i);
  }
  void unmap(std::size_t i) {
    EXPECT_TRUE(allocator_->mappable().destroy(at(i)).is_ok());
    mapped_.erase(i);
  }
  void end_all() {
    while (!mapped_.empty()) unmap(*mapped_.begin());
    EXPECT_TRUE(allocator_->mappable().unreserve(segment_).is_ok());
    EXPECT_TRUE(allocator_->validate().is_ok());
  }
  Address at(std::size_t i) const { return segment_ + 4_MiB * i; }
  Status use(std::vector<Address> addresses) {
    AnnouncedUse use;
    TESSERA_TRY(allocator_->uses().begin(addresses, StreamId(), Access::kWrite, Use::Kind::kGate, "", use));
    allocator_->uses().end(use);
    return {};
  }
  Status use_graded(std::vector<Address> words, std::size_t certain) {
    AnnouncedUse use;
    const GradedAddresses graded{words, certain, 0};
    TESSERA_TRY(allocator_->graded_uses().begin(graded, StreamId(), Access::kWrite, "", use));
    allocator_->uses().end(use);
    return {};
  }
  Status copy(Address from, Bytes bytes) {
    AnnouncedUse use;
    const AddressRange range{from, bytes};
    TESSERA_TRY(
        allocator_->uses().begin(std::span(&range, 1), StreamId(), Access::kRead, Use::Kind::kHold, "copy", use));
    allocator_->uses().end(use);
    return {};
  }
  void add(std::vector<AddressRange> objects) {
    const Status added = allocator_->hints().add_extents(objects);
    EXPECT_TRUE(added.is_ok()) << added.to_string();
  }
  void remove(Address address) { allocator_->hints().remove_extents({&address, 1}); }
  bool is_there(std::size_t i) { return allocator_->memory().where(at(i)).value().tiers[0] == 4_MiB; }
  std::string there() {
    std::string which;
    for (const std::size_t i : mapped_) which += is_there(i) ? std::to_string(i) : "";
    return which;
  }
  void evict_all() {
    for (const std::size_t i : mapped_) {
      const Address address = at(i);
      EXPECT_TRUE(copy(address, 1_MiB).is_ok());
      EXPECT_TRUE(allocator_->streams().synchronize(DeviceId()).is_ok());
    }
    EXPECT_TRUE(allocator_->hints().sleep(nullptr).is_ok());
    EXPECT_EQ(there(), "");
  }

  Address segment_;
  std::set<std::size_t> mapped_;
};

TEST_F(SegmentTest, AnAddressMeansAllThatIsMappedWhereItFits) {
  start_with(32_MiB, 5);
  unmap(3);
  evict_all();
  ASSERT_TRUE(use({at(1) + 1_MiB}).is_ok());
  EXPECT_EQ(there(), "0124");
  end_all();
}

TEST_F(SegmentTest, AnAddressWhereNothingIsMappedMeansWhatIsMappedAroundIt) {
  start_with(32_MiB, 3);
  unmap(0);
  map(8);
  evict_all();
  ASSERT_TRUE(use({at(0) + 1_MiB}).is_ok());
  EXPECT_EQ(there(), "128");
  evict_all();
  ASSERT_TRUE(use_graded({at(20)}, 1).is_ok());
  EXPECT_EQ(there(), "128");
  evict_all();
  ASSERT_TRUE(use_graded({at(4)}, 0).is_ok());
  EXPECT_EQ(there(), "") << "it may be no address";
  ASSERT_TRUE(copy(at(0), 4_MiB).is_ok());
  EXPECT_EQ(there(), "") << "a length is of bytes, and there are none";
  add({{at(1), 4_MiB}});
  ASSERT_TRUE(use({at(0)}).is_ok());
  EXPECT_EQ(there(), "") << "in no object";
  while (!mapped_.empty()) unmap(*mapped_.begin());
  EXPECT_TRUE(use({at(0)}).is_ok());
  const Address before = segment_;
  end_all();
  EXPECT_TRUE(use({before}).is_ok());
}

TEST_F(SegmentTest, ALaunchOfMoreThanTheDeviceGetsTheNearestToAnAddressWhereNothingIsMapped) {
  start_with(16_MiB, 9);
  unmap(2);
  unmap(8);
  evict_all();
  ASSERT_TRUE(use({at(2)}).is_ok());
  EXPECT_EQ(there(), "3456");
  ASSERT_TRUE(use({at(30)}).is_ok());
  EXPECT_EQ(there(), "4567");
  end_all();
}

TEST_F(SegmentTest, ALengthMeansTheHandlesThatItTouches) {
  start_with(32_MiB, 5);
  evict_all();
  ASSERT_TRUE(copy(at(1) + 3_MiB, 2_MiB).is_ok());
  EXPECT_EQ(there(), "12");
  end_all();
}

TEST_F(SegmentTest, ALaunchOfMoreThanTheDeviceGetsTheNearest) {
  start_with(16_MiB, 9);
  evict_all();
  ASSERT_TRUE(use({at(4)}).is_ok());
  EXPECT_EQ(there(), "4567");
  ASSERT_TRUE(use({at(1), at(7)}).is_ok());
  EXPECT_EQ(there(), "1278");
  ASSERT_TRUE(use_graded({at(0), at(5) + 1_MiB}, 1).is_ok());
  EXPECT_EQ(there(), "0156");
  ASSERT_TRUE(use({at(0), at(2), at(4), at(6)}).is_ok());
  EXPECT_EQ(there(), "0246");
  EXPECT_EQ(use({at(0), at(2), at(4), at(6), at(8)}).code(), Code::kOutOfMemory) << "what it names does not fit";
  end_all();
}

TEST_F(SegmentTest, ExtentsSayWhatAnAddressMeans) {
  start_with(32_MiB, 6);
  ASSERT_TRUE(allocator_->hints().set_extents(at(2), {{6_MiB, 6_MiB}, {16_MiB, 100_MiB}}).is_ok());
  EXPECT_EQ(allocator_->hints().set_extents(at(2), {{255_MiB, 2_MiB}}).code(), Code::kInvalidArgument);
  evict_all();
  ASSERT_TRUE(use({at(1) + 3_MiB}).is_ok());
  EXPECT_EQ(there(), "12");
  ASSERT_TRUE(use({at(4)}).is_ok());
  EXPECT_EQ(there(), "1245");
  ASSERT_TRUE(use({at(0)}).is_ok());
  EXPECT_EQ(there(), "01245") << "in no extent: the handle alone";
  map(6);
  evict_all();
  ASSERT_TRUE(use({at(1) + 3_MiB}).is_ok());
  EXPECT_EQ(there(), "0123456") << "the extents did not count it in";
  ASSERT_TRUE(allocator_->hints().set_extents(at(2), {{0_MiB, 4_MiB}}).is_ok());
  while (mapped_.size() != 0) unmap(*mapped_.begin());
  map(0);
  map(3);
  evict_all();
  ASSERT_TRUE(use({at(0)}).is_ok());
  EXPECT_EQ(there(), "03") << "extents end with what was mapped";
  end_all();
}

TEST_F(SegmentTest, ObjectsAreAddedAndRemovedWhileTheSegmentGrowsAndShrinks) {
  start_with(32_MiB, 4);
  add({{at(0) + 1_MiB, 5_MiB}, {at(2), 512_B}});
  evict_all();
  ASSERT_TRUE(use({at(1)}).is_ok());
  EXPECT_EQ(there(), "01");
  ASSERT_TRUE(use({at(3)}).is_ok());
  EXPECT_EQ(there(), "013") << "in no object: the handle alone";
  map(4);
  map(5);
  add({{at(3) + 2_MiB, 10_MiB}});
  evict_all();
  ASSERT_TRUE(use({at(0) + 2_MiB}).is_ok());
  EXPECT_EQ(there(), "01") << "what was mapped since changes nothing of what was known";
  remove(at(0) + 1_MiB);
  ASSERT_TRUE(use({at(5) + 1_MiB}).is_ok());
  EXPECT_EQ(there(), "01345");
  unmap(0);
  unmap(1);
  map(0);
  map(1);
  evict_all();
  ASSERT_TRUE(use({at(1)}).is_ok());
  EXPECT_EQ(there(), "1");
  ASSERT_TRUE(allocator_->hints().keep_whole(at(2)).is_ok());
  map(6);
  add({{at(6), 3_MiB}});
  evict_all();
  ASSERT_TRUE(use({at(6)}).is_ok());
  EXPECT_EQ(there(), "0123456") << "until nothing is mapped there, it is one object";
  while (!mapped_.empty()) unmap(*mapped_.begin());
  map(2);
  map(3);
  add({{at(2), 4_MiB}});
  evict_all();
  ASSERT_TRUE(use({at(2)}).is_ok());
  EXPECT_EQ(there(), "2");
  end_all();
}

TEST_F(SegmentTest, APinMeansAllThatIsMapped) {
  start_with(32_MiB, 3);
  ASSERT_TRUE(allocator_->pins().pin(at(1)).is_ok());
  EXPECT_EQ(allocator_->memory().where(at(2)).value().pins, 1U);
  const Address address = at(2);
  EXPECT_EQ(allocator_->hints().evict({&address, 1}).code(), Code::kBusy);
  ASSERT_TRUE(allocator_->pins().unpin(at(0)).is_ok());
  EXPECT_EQ(allocator_->memory().where(at(2)).value().pins, 0U);
  end_all();
}

// Launches go on while handles come and go beside what they use; a handle in no call is never busy.
class SegmentThreads : public SegmentTest {
 protected:
  void launch_while_handles_come_and_go() {
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> failed{0}, launched{0};
    const auto launch = [&] {
      do {
        failed += use({at(0), at(2)}).is_ok() ? 0 : 1;
        failed += copy(at(0) + 3_MiB, 2_MiB).is_ok() ? 0 : 1;
        ++launched;
      } while (!over.load());
    };
    std::thread one(launch), two(launch);
    for (int i = 0; i < 50; ++i) {
      map(5);
      map(4);
      unmap(5);
      unmap(4);
    }
    over.store(true);
    one.join();
    two.join();
    EXPECT_EQ(failed.load(), 0U);
    EXPECT_GE(launched.load(), 2U);
    end_all();
  }
};

TEST_F(SegmentThreads, WhereAllFits) {
  start_with(32_MiB, 4);
  launch_while_handles_come_and_go();
}

// One thread makes and frees tensors, as an allocator does, others launch. What they name stays.
TEST_F(SegmentThreads, WhereObjectsComeAndGo) {
  start_with(32_MiB, 4);
  add({{at(0), 8_MiB}});
  std::atomic<bool> over{false};
  std::thread allocator([&] {
    for (std::uint64_t i = 0; !over.load(); ++i) {
      add({{at(2) + 512_B * (i % 7), 7_MiB}});
      remove(at(2) + 512_B * (i % 7));
    }
  });
  launch_while_handles_come_and_go();
  over.store(true);
  allocator.join();
}

TEST_F(SegmentThreads, WhereLaunchesGetTheNearest) {
  start_with(14_MiB, 4);
  launch_while_handles_come_and_go();
}

}  // namespace
}  // namespace tessera
