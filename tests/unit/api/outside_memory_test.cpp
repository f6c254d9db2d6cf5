#include "api/outside_memory.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr Bytes kMiB{1 << 20};
constexpr Bytes kDevice = 1024 * kMiB;

OutsideMemory::Report of(const char* kind, Bytes bytes, std::uint64_t device = 0, bool imported = false) {
  return {DeviceId(device), kind, "do this", "cuMemCreate of a.so", bytes, imported};
}

TEST(OutsideMemory, ALineIsDueOnceMoreThanHalfIsOutside) {
  OutsideMemory outside;
  ASSERT_TRUE(outside.set(of("virtual_memory", 200 * kMiB)));
  EXPECT_FALSE(outside.line_if_due(DeviceId(0), 200 * kMiB, kDevice)) << "half of it";
  const auto line = outside.line_if_due(DeviceId(0), 199 * kMiB, kDevice);
  ASSERT_TRUE(line);
  EXPECT_EQ(
      *line,
      "the program has 200 MiB of device memory outside the heap, which does not move, and 199 MiB in it; most is "
      "virtual memory (first cuMemCreate of a.so). What moves it: do this");
  EXPECT_FALSE(outside.set(of("virtual_memory", 900 * kMiB)));
  EXPECT_FALSE(outside.line_if_due(DeviceId(0), Bytes(), kDevice)) << "once";
  EXPECT_FALSE(outside.line_at_end(Bytes()));
}

TEST(OutsideMemory, LittleBeforeTheFirstBlockIsNoReason) {
  OutsideMemory outside;
  EXPECT_FALSE(outside.set(of("virtual_memory", 63 * kMiB)));
  EXPECT_TRUE(outside.set(of("virtual_memory", 127 * kMiB)));
  EXPECT_FALSE(outside.line_if_due(DeviceId(0), Bytes(), kDevice)) << "less than an eighth of the device";
  EXPECT_FALSE(outside.line_at_end(300 * kMiB)) << "most was in the heap";
  EXPECT_TRUE(outside.line_at_end(100 * kMiB));
}

TEST(OutsideMemory, EachDeviceIsJudgedByItsOwn) {
  OutsideMemory outside;
  (void)outside.set(of("managed", 500 * kMiB, 1));
  EXPECT_FALSE(outside.line_if_due(DeviceId(0), Bytes(), kDevice));
  EXPECT_TRUE(outside.line_if_due(DeviceId(1), Bytes(), kDevice));
}

TEST(OutsideMemory, GrowthIsCheckedBySteps) {
  OutsideMemory outside;
  int checks = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) checks += outside.set(of("pools", i * kMiB)) ? 1 : 0;
  EXPECT_GT(checks, 10);
  EXPECT_LT(checks, 40);
}

TEST(OutsideMemory, WhatIsImportedIsListedAndNotCounted) {
  OutsideMemory outside;
  (void)outside.set(of("imported", 500 * kMiB, 0, true));
  (void)outside.set(of("arrays", 100 * kMiB));
  (void)outside.set(of("arrays", 60 * kMiB, 1));
  (void)outside.set(of("arrays", 40 * kMiB));
  const auto figures = outside.figures();
  EXPECT_EQ(figures.bytes, 100 * kMiB);
  EXPECT_EQ(figures.peak, 160 * kMiB);
  ASSERT_EQ(figures.parts.size(), 2u);
  EXPECT_EQ(figures.parts[0].kind, "arrays");
  EXPECT_EQ(figures.parts[0].bytes, 100 * kMiB);
  EXPECT_EQ(figures.parts[1].bytes, 500 * kMiB);
}

TEST(OutsideMemory, IsBounded) {
  OutsideMemory outside;
  for (std::uint64_t i = 0; i < 1000; ++i) (void)outside.set(of(std::to_string(i).c_str(), kMiB));
  EXPECT_LE(outside.figures().parts.size(), 256u);
}

}  // namespace
}  // namespace tessera
