#include "lab/fuzz/stamp_memory.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(StampMemory, AStretchHoldsWhatWasWrittenLast) {
  StampMemory memory;
  const Place start = disk_place(Bytes());
  memory.write(start, 100_B, 7);
  EXPECT_EQ(memory.stamp_of(start, 100_B), 7U);
  EXPECT_EQ(memory.stamp_of(start, 50_B), std::nullopt) << "no writer ended there";
  memory.write(Place(start.value() + 40), 60_B, 8);
  EXPECT_EQ(memory.stamp_of(start, 100_B), std::nullopt) << "its end was overwritten";
  EXPECT_EQ(memory.stamp_of(Place(start.value() + 40), 60_B), 8U);
}

TEST(StampMemory, ContentsTravel) {
  StampMemory memory;
  memory.write(device_place(1, Bytes()), 2_MiB, 5);
  memory.write(device_place(1, 2_MiB), 1_B, 6);
  memory.write(disk_place(Bytes()), 4_MiB, memory.read(device_place(1, Bytes()), 4_MiB));
  EXPECT_EQ(memory.stamp_of(disk_place(Bytes()), 2_MiB), 5U);
  EXPECT_EQ(memory.stamp_of(disk_place(2_MiB), 1_B), 6U);
}

TEST(StampMemory, MemoriesAreApart) {
  StampMemory memory;
  int host = 0;
  memory.write(device_place(1, Bytes()), 4_B, 1);
  memory.write(device_place(2, Bytes()), 4_B, 2);
  memory.write(host_place(&host), 4_B, 3);
  memory.write(disk_place(Bytes()), 4_B, 4);
  EXPECT_EQ(memory.stamp_of(device_place(1, Bytes()), 4_B), 1U);
  EXPECT_EQ(memory.stamp_of(device_place(2, Bytes()), 4_B), 2U);
  EXPECT_EQ(memory.stamp_of(host_place(&host), 4_B), 3U);
  EXPECT_EQ(memory.stamp_of(disk_place(Bytes()), 4_B), 4U);
}

TEST(StampMemory, ADigestSeesEveryStampAndItsPlace) {
  StampMemory memory;
  const Place start = disk_place(Bytes());
  const std::uint64_t empty = memory.digest(start, 2_MiB);
  memory.write(start, 2_MiB, 1);
  const std::uint64_t one = memory.digest(start, 2_MiB);
  memory.write(start, 1_MiB, 1);
  EXPECT_NE(one, empty);
  EXPECT_NE(memory.digest(start, 2_MiB), one);
}

}  // namespace
}  // namespace tessera
