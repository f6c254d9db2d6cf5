#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

class BlockExtentsTest : public AllocatorMachine {
 protected:
  void start_small() { start(small(192_MiB, 512_MiB), without_host_frames()); }

  void write_part(Address to, std::uint32_t pattern, Bytes bytes) {
    const std::vector<std::uint32_t> data(bytes.value() / sizeof(pattern), pattern);
    use_part({to, bytes}, Access::kWrite, [&] { return sim_->copy_in(to, data.data(), bytes, StreamId()); });
  }
  bool part_holds(Address from, std::uint32_t pattern, Bytes bytes) {
    std::vector<std::uint32_t> data(bytes.value() / sizeof(pattern));
    use_part({from, bytes}, Access::kRead, [&] { return sim_->copy_out(data.data(), from, bytes, StreamId()); });
    return all_are(data, pattern);
  }
  template <class Work>
  void use_part(AddressRange range, Access access, Work work) {
    AnnouncedUse use;
    const Status begun = allocator_->uses().begin(std::span<const AddressRange>(&range, 1), StreamId(), access,
                                                  Use::Kind::kHold, "copy", use);
    ASSERT_TRUE(begun.is_ok()) << begun.to_string();
    EXPECT_TRUE(work().is_ok());
    EXPECT_TRUE(sim_->synchronize(StreamId()).is_ok());
    allocator_->uses().end(use);
  }
  Status launch(Address address) {
    AnnouncedUse use;
    TESSERA_TRY(allocator_->uses().begin({&address, 1}, StreamId(), Access::kWrite, Use::Kind::kGate, "", use));
    allocator_->uses().end(use);
    return {};
  }
  Status add(std::vector<AddressRange> objects) { return allocator_->hints().add_extents(objects); }
  void remove(Address address) { allocator_->hints().remove_extents({&address, 1}); }
  // Of a block of 256 MiB, which has four parts.
  void evict_and_launch(Address block) { evict_and_launch(block, block); }
  void evict_and_launch(Address named, Address block) {
    const Address parts[] = {block, block + 64_MiB, block + 128_MiB, block + 192_MiB};
    ASSERT_TRUE(allocator_->hints().evict(parts).is_ok());
    ASSERT_EQ(on_device(block), 0_B);
    ASSERT_TRUE(launch(named).is_ok());
  }
  Bytes on_device(Address address) { return allocator_->memory().where(address).value().tiers[0]; }
};

TEST_F(BlockExtentsTest, CopiesOfPartsOfABlockLargerThanTheDeviceArriveAndReturn) {
  start_small();
  const Address block = allocate(300_MiB);
  for (std::uint32_t i = 0; i < 30; ++i) write_part(block + 10_MiB * i, i, 1_MiB);
  for (std::uint32_t i = 0; i < 30; ++i) EXPECT_TRUE(part_holds(block + 10_MiB * i, i, 1_MiB)) << i;
  EXPECT_LE(on_device(block), 192_MiB);
  EXPECT_TRUE(allocator_->free(block, kNoStream).is_ok());
}

TEST_F(BlockExtentsTest, ALaunchFetchesTheExtentItNamesAndTheWholeBlockIsRefused) {
  start_small();
  const Address block = allocate(300_MiB);
  const Status whole = launch(block);
  EXPECT_EQ(whole.code(), Code::kOutOfMemory);
  EXPECT_NE(whole.message().find("uses 300 MiB at once"), std::string_view::npos) << whole.message();
  ASSERT_TRUE(allocator_->hints().set_extents(block, {{0_B, 100_MiB}, {100_MiB, 20_MiB}, {280_MiB, 20_MiB}}).is_ok());
  EXPECT_TRUE(launch(block + 1_MiB).is_ok());
  EXPECT_EQ(on_device(block), 128_MiB) << "the parts that the extent touches";
  EXPECT_TRUE(launch(block + 290_MiB).is_ok());
  EXPECT_TRUE(launch(block + 110_MiB).is_ok());
  ASSERT_TRUE(allocator_->hints().set_extents(block, {}).is_ok());
  EXPECT_EQ(launch(block).code(), Code::kOutOfMemory) << "it is one object again";
}

TEST_F(BlockExtentsTest, HintsAndTouchesMeanTheExtent) {
  start(small(320_MiB, 512_MiB), {.devices = 1, .memory = 400_MiB});
  const Address block = allocate(256_MiB);
  ASSERT_TRUE(allocator_->hints().set_extents(block, {{0_B, 64_MiB}, {64_MiB, 192_MiB}}).is_ok());
  const Address first = block, second = block + 65_MiB;
  ASSERT_TRUE(allocator_->hints().evict({&second, 1}).is_ok());
  EXPECT_EQ(on_device(block), 64_MiB);
  ASSERT_TRUE(allocator_->hints().evict({&first, 1}).is_ok());
  EXPECT_EQ(on_device(block), 0_B);
  ASSERT_TRUE(allocator_->uses().touch(first, StreamId(), Access::kRead).is_ok());
  EXPECT_EQ(on_device(block), 64_MiB);
  ASSERT_TRUE(allocator_->hints().prefetch({&second, 1}).is_ok());
  EXPECT_EQ(on_device(block), 256_MiB);
}

TEST_F(BlockExtentsTest, BadExtentsAreRefusedAndChangeNothing) {
  start_small();
  const Address block = allocate(256_MiB), small = allocate(4_MiB);
  ASSERT_TRUE(allocator_->hints().set_extents(block, {{0_B, 64_MiB}}).is_ok());
  EXPECT_EQ(allocator_->hints().set_extents(block, {{0_B, 2_B}, {1_B, 2_B}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(allocator_->hints().set_extents(block, {{255_MiB, 2_MiB}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(allocator_->hints().set_extents(Address(64), {{0_B, 1_B}}).code(), Code::kNotFound);
  EXPECT_TRUE(launch(block).is_ok()) << "the first extents hold";
  EXPECT_TRUE(allocator_->hints().set_extents(small, {{0_B, 1_MiB}}).is_ok()) << "small blocks accept them";
  EXPECT_EQ(allocator_->hints().set_extents(small, {{0_B, 5_MiB}}).code(), Code::kInvalidArgument);
}

TEST_F(BlockExtentsTest, ANewBlockInTheSamePlaceIsOneObject) {
  start(small(320_MiB, 512_MiB), {.devices = 1, .memory = 400_MiB});
  const Address block = allocate(256_MiB);
  ASSERT_TRUE(allocator_->hints().set_extents(block, {{0_B, 64_MiB}}).is_ok());
  ASSERT_TRUE(launch(block).is_ok());
  ASSERT_TRUE(allocator_->free(block, StreamId()).is_ok());
  EXPECT_EQ(launch(block).code(), Code::kOk) << "a stale address names nothing";
  const Address again = allocator_->allocate(DeviceId(), 256_MiB, StreamId()).value();
  ASSERT_EQ(again, block);
  ASSERT_TRUE(allocator_->hints().evict({&again, 1}).is_ok());
  ASSERT_TRUE(launch(again).is_ok());
  EXPECT_EQ(on_device(again), 256_MiB);
}

TEST_F(BlockExtentsTest, ALaunchFetchesTheObjectThatWasAdded) {
  start_small();
  const Address block = allocate(300_MiB);
  ASSERT_TRUE(add({{block, 100_MiB}}).is_ok());
  EXPECT_TRUE(launch(block + 1_MiB).is_ok());
  EXPECT_EQ(on_device(block), 128_MiB) << "the parts that the object touches";
  EXPECT_TRUE(launch(block + 290_MiB).is_ok()) << "in no object: one part";
  remove(block);
  ASSERT_TRUE(add({{block + 63_MiB, 2_MiB}}).is_ok());
  ASSERT_TRUE(allocator_->hints().evict({&block, 1}).is_ok());
  EXPECT_LE(on_device(block), 128_MiB);
  EXPECT_TRUE(launch(block + 64_MiB).is_ok());
  EXPECT_TRUE(allocator_->free(block, StreamId()).is_ok());
  EXPECT_TRUE(allocator_->validate().is_ok());
}

TEST_F(BlockExtentsTest, AnObjectThatFillsItsBlockLeavesItOneObjectUntilItIsCut) {
  start(small(320_MiB, 512_MiB), {.devices = 1, .memory = 400_MiB});
  const Address block = allocate(256_MiB);
  ASSERT_TRUE(add({{block, 256_MiB - 512_B}}).is_ok());
  const Address far = block + 200_MiB;
  ASSERT_TRUE(allocator_->hints().evict({&block, 1}).is_ok());
  ASSERT_TRUE(launch(far).is_ok());
  EXPECT_EQ(on_device(block), 256_MiB);
  remove(block);
  ASSERT_TRUE(add({{block, 1_MiB}}).is_ok());
  ASSERT_TRUE(add({{far, 20_MiB}}).is_ok());
  const Address parts[] = {block, block + 64_MiB, block + 128_MiB, far};
  ASSERT_TRUE(allocator_->hints().evict(parts).is_ok());
  ASSERT_EQ(on_device(block), 0_B);
  ASSERT_TRUE(launch(far).is_ok());
  EXPECT_EQ(on_device(block), 64_MiB);
}

TEST_F(BlockExtentsTest, ObjectsEndWithTheirBlockAndWithExtentsThatAreSet) {
  start(small(320_MiB, 512_MiB), {.devices = 1, .memory = 400_MiB});
  const Address block = allocate(256_MiB);
  ASSERT_TRUE(add({{block, 64_MiB}}).is_ok());
  ASSERT_TRUE(allocator_->free(block, StreamId()).is_ok());
  ASSERT_EQ(allocator_->allocate(DeviceId(), 256_MiB, StreamId()).value(), block);
  evict_and_launch(block);
  EXPECT_EQ(on_device(block), 256_MiB) << "the next block in the same place is one object";
  ASSERT_TRUE(add({{block + 1_MiB, 1_MiB}}).is_ok());
  evict_and_launch(block);
  EXPECT_EQ(on_device(block), 64_MiB) << "what was added to the block before is not in this one";
  ASSERT_TRUE(allocator_->hints().set_extents(block, {}).is_ok());
  evict_and_launch(block);
  EXPECT_EQ(on_device(block), 256_MiB);
}

TEST_F(BlockExtentsTest, ABlockThatIsKeptWholeIsOneObjectUntilItEnds) {
  start(small(320_MiB, 512_MiB), {.devices = 1, .memory = 400_MiB});
  const Address block = allocate(256_MiB);
  ASSERT_TRUE(add({{block, 64_MiB}}).is_ok());
  ASSERT_TRUE(allocator_->hints().keep_whole(block).is_ok());
  ASSERT_TRUE(add({{block + 64_MiB, 64_MiB}}).is_ok());
  evict_and_launch(block);
  EXPECT_EQ(on_device(block), 256_MiB);
  ASSERT_TRUE(allocator_->free(block, StreamId()).is_ok());
  ASSERT_EQ(allocator_->allocate(DeviceId(), 256_MiB, StreamId()).value(), block);
  ASSERT_TRUE(add({{block, 64_MiB}}).is_ok());
  evict_and_launch(block);
  EXPECT_EQ(on_device(block), 64_MiB);
  EXPECT_EQ(allocator_->hints().keep_whole(Address(64)).code(), Code::kNotFound);
}

TEST_F(BlockExtentsTest, ABlockInWhichObjectsOverlapIsOneObject) {
  start(small(320_MiB, 512_MiB), {.devices = 1, .memory = 400_MiB});
  const Address block = allocate(256_MiB);
  ASSERT_TRUE(add({{block, 64_MiB}, {block + 100_MiB, 64_MiB}}).is_ok());
  evict_and_launch(block);
  EXPECT_EQ(on_device(block), 64_MiB);
  ASSERT_TRUE(add({{block + 32_MiB, 512_B}}).is_ok());
  evict_and_launch(block + 32_MiB, block);
  EXPECT_EQ(on_device(block), 256_MiB);
}

TEST_F(BlockExtentsTest, AnObjectThatCannotBeLeavesItsBlockOneObject) {
  start(small(320_MiB, 512_MiB), {.devices = 1, .memory = 400_MiB});
  const Address block = allocate(256_MiB), small_one = allocate(4_MiB);
  ASSERT_TRUE(add({{block + 64_MiB, Bytes(~std::uint64_t{0})}}).is_ok());
  ASSERT_TRUE(add({{block, 64_MiB}, {small_one, 1_MiB}, {small_one, 3_MiB}, {Address(64), 1_MiB}}).is_ok());
  evict_and_launch(block);
  EXPECT_EQ(on_device(block), 256_MiB);
}

TEST_F(BlockExtentsTest, ARecordingHasTheParts) {
  const std::string path = ::testing::TempDir() + "extents_trace.jsonl";
  Options options = small(192_MiB, 512_MiB);
  options.trace = path;
  start(options, {.devices = 1, .memory = 256_MiB});
  const Address block = allocate(300_MiB);
  ASSERT_TRUE(allocator_->hints().set_extents(block, {{64_MiB, 20_MiB}}).is_ok());
  ASSERT_TRUE(launch(block + 70_MiB).is_ok());
  write_part(block + 128_MiB, 1, 1_MiB);
  allocator_.reset();
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string id = std::to_string(block.value());
  EXPECT_NE(text.find("\"w\":[[" + id + ",67108864,20971520]]"), std::string::npos) << text;
  EXPECT_NE(text.find("\"w\":[[" + id + ",134217728,1048576]]"), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera
