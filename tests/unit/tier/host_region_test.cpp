#include "tier/host_region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <semaphore>
#include <string>
#include <thread>

#include "driver/native_codes.hpp"
#include "sim/fault_driver.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class HostRegionTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  static void expect_sound(const HostRegion& region) {
    EXPECT_TRUE(region.validate().is_ok()) << region.validate().to_string();
  }

  SimMachine machine_;
};

TEST_F(HostRegionTest, NothingIsBackedBeforeItIsNeeded) {
  HostRegion region(machine_.driver(), 64_MiB, 16_MiB);
  EXPECT_EQ(region.backed(), Bytes());
  EXPECT_EQ(region.take(4_KiB, 4_KiB), nullptr);
  expect_sound(region);
}

TEST_F(HostRegionTest, GrowsByChunksUpToTheBoundAndNoFurther) {
  HostRegion region(machine_.driver(), 40_MiB, 16_MiB);
  EXPECT_TRUE(region.grow(2_MiB));
  EXPECT_EQ(region.backed(), 16_MiB);
  EXPECT_TRUE(region.grow(16_MiB));
  EXPECT_FALSE(region.grow(16_MiB)) << "8 MiB are left";
  EXPECT_TRUE(region.grow(8_MiB));
  EXPECT_EQ(region.backed(), 40_MiB);
  EXPECT_FALSE(region.grow(4_KiB));
  expect_sound(region);
}

TEST_F(HostRegionTest, ALowerLimitHoldsUnlessMoreIsBacked) {
  HostRegion region(machine_.driver(), 64_MiB, 16_MiB);
  ASSERT_TRUE(region.grow(4_KiB));
  EXPECT_FALSE(region.limit_to(8_MiB));
  EXPECT_TRUE(region.limit_to(24_MiB));
  EXPECT_FALSE(region.grow(16_MiB));
  EXPECT_TRUE(region.grow(8_MiB));
  EXPECT_EQ(region.backed(), 24_MiB);
  EXPECT_TRUE(region.limit_to(128_MiB));
  EXPECT_TRUE(region.grow(16_MiB));
  expect_sound(region);
}

TEST_F(HostRegionTest, AddressesOfReturnedChunksAreMergedAndSplit) {
  HostRegion region(machine_.driver(), 32_MiB, 4_MiB);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(region.grow(4_KiB));
  region.trim();
  EXPECT_EQ(region.backed(), Bytes());
  ASSERT_TRUE(region.grow(24_MiB)) << "in the place of several chunks";
  void* const large = region.take(24_MiB, 4_KiB);
  ASSERT_NE(large, nullptr);
  std::memset(large, 1, (24_MiB).value());
  ASSERT_TRUE(region.grow(8_MiB)) << "in what was left of them";
  EXPECT_EQ(region.backed(), 32_MiB);
  expect_sound(region);
  region.give(large, 24_MiB);
}

TEST_F(HostRegionTest, AChunkThatIsNotRegisteredIsRefusedOnRequest) {
  FaultDriver faults(machine_.driver());
  HostRegion region(faults, 32_MiB, 4_MiB, system_host_pages(), HostRegion::Unregistered::kRefused);
  faults.fail({DriverCall::kRegisterHost, 1, Status(Code::kOutOfMemory, "full")});
  EXPECT_FALSE(region.grow(4_KiB));
  EXPECT_EQ(region.backed(), Bytes());
  EXPECT_TRUE(region.grow(4_KiB));
  EXPECT_TRUE(region.pinned());
  expect_sound(region);
}

// A thread of ours may pin memory while the process ends, after the driver.
TEST_F(HostRegionTest, AChunkIsRefusedWithoutAWordWhereTheDriverHasEnded) {
  FaultDriver driver(machine_.driver());
  driver.fail({DriverCall::kRegisterHost, 1, Status(Code::kDriver, "ended", native::kDeinitialized), true});
  testing::internal::CaptureStderr();
  HostRegion region(driver, 8_MiB, 4_MiB);
  EXPECT_FALSE(region.grow(4_KiB));
  EXPECT_TRUE(region.pinned());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  expect_sound(region);
}

TEST_F(HostRegionTest, DoesNotGrowForACallerUnawareOfTheLastGrowth) {
  HostRegion region(machine_.driver(), 64_MiB, 16_MiB);
  const std::uint64_t seen = region.growths();
  EXPECT_TRUE(region.grow(4_KiB, seen));
  EXPECT_TRUE(region.grow(4_KiB, seen)) << "try again with what is there now";
  EXPECT_EQ(region.backed(), 16_MiB);
  EXPECT_TRUE(region.grow(4_KiB, region.growths()));
  EXPECT_EQ(region.backed(), 32_MiB);
}

// Pages that take until they are released by the test.
class SlowPages final : public HostPages {
 public:
  bool open(void* start, Bytes bytes) override {
    opening_.release();
    go_on_.acquire();
    return system_host_pages().open(start, bytes);
  }
  void close(void* start, Bytes bytes) override { system_host_pages().close(start, bytes); }
  void wait_until_opening() { opening_.acquire(); }
  void go_on() { go_on_.release(); }

 private:
  std::counting_semaphore<> opening_{0};
  std::counting_semaphore<> go_on_{0};
};

TEST_F(HostRegionTest, TakeAndGiveDoNotWaitForGrowth) {
  SlowPages pages;
  HostRegion region(machine_.driver(), 8_MiB, 4_MiB, pages);
  pages.go_on();
  ASSERT_TRUE(region.grow(4_KiB));
  pages.wait_until_opening();
  std::thread growing([&] { EXPECT_TRUE(region.grow(4_KiB)); });
  pages.wait_until_opening();
  void* const found = region.take(4_MiB, 4_KiB);
  EXPECT_NE(found, nullptr);
  EXPECT_EQ(region.take(4_KiB, 4_KiB), nullptr) << "what is not backed yet is not free";
  EXPECT_EQ(region.backed(), 4_MiB);
  region.give(found, 4_MiB);
  pages.go_on();
  growing.join();
  EXPECT_EQ(region.backed(), 8_MiB);
  expect_sound(region);
}

TEST_F(HostRegionTest, AChunkIsAtLeastAsLargeAsTheRequest) {
  HostRegion region(machine_.driver(), 64_MiB, 4_MiB);
  EXPECT_TRUE(region.grow(32_MiB));
  EXPECT_NE(region.take(32_MiB, 4_KiB), nullptr);
  expect_sound(region);
}

TEST_F(HostRegionTest, EveryByteIsWritableAndRegistered) {
  HostRegion region(machine_.driver(), 4_MiB, 4_MiB);
  ASSERT_TRUE(region.grow(4_MiB));
  void* const all = region.take(4_MiB, 4_KiB);
  ASSERT_NE(all, nullptr);
  std::memset(all, 1, (4_MiB).value());
  EXPECT_TRUE(machine_.driver().is_registered(all, 4_MiB));
  EXPECT_TRUE(region.pinned());
}

TEST_F(HostRegionTest, NoExtentCrossesAChunk) {
  HostRegion region(machine_.driver(), 8_MiB, 4_MiB);
  ASSERT_TRUE(region.grow(4_KiB));
  ASSERT_TRUE(region.grow(4_KiB));
  EXPECT_EQ(region.take(6_MiB, 4_KiB), nullptr) << "8 MiB are free, in two registrations";
  EXPECT_NE(region.take(4_MiB, 4_KiB), nullptr);
  EXPECT_NE(region.take(4_MiB, 4_KiB), nullptr);
}

TEST_F(HostRegionTest, AlignmentIsThatOfTheAddress) {
  HostRegion region(machine_.driver(), 8_MiB, 8_MiB);
  ASSERT_TRUE(region.grow(4_KiB));
  ASSERT_NE(region.take(4_KiB, 4_KiB), nullptr);
  void* const found = region.take(1_MiB, 1_MiB);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(found) % (1_MiB).value(), 0u);
}

TEST_F(HostRegionTest, ReturnedPiecesJoin) {
  HostRegion region(machine_.driver(), 4_MiB, 4_MiB);
  ASSERT_TRUE(region.grow(4_KiB));
  auto* const all = static_cast<std::byte*>(region.take(4_MiB, 4_KiB));
  region.give(all + (1_MiB).value(), 3_MiB);
  expect_sound(region);
  region.give(all, 1_MiB);
  EXPECT_EQ(region.take(4_MiB, 4_KiB), all);
}

TEST_F(HostRegionTest, TrimReleasesOnlyFreeChunks) {
  HostRegion region(machine_.driver(), 8_MiB, 4_MiB);
  ASSERT_TRUE(region.grow(4_KiB));
  ASSERT_TRUE(region.grow(4_KiB));
  void* const kept = region.take(4_KiB, 4_KiB);
  region.trim();
  EXPECT_EQ(region.backed(), 4_MiB);
  expect_sound(region);
  region.give(kept, 4_KiB);
  region.trim();
  EXPECT_EQ(region.backed(), Bytes());
  EXPECT_FALSE(machine_.driver().is_registered(kept));
}

TEST_F(HostRegionTest, GrowsAgainAfterATrim) {
  HostRegion region(machine_.driver(), 10_MiB, 4_MiB);
  for (int round = 0; round < 50; ++round) {
    while (region.grow(4_KiB)) {
    }
    EXPECT_EQ(region.backed(), 10_MiB);
    expect_sound(region);
    region.trim();
    EXPECT_EQ(region.backed(), Bytes());
  }
}

TEST_F(HostRegionTest, KnowsItsOwnAddresses) {
  HostRegion region(machine_.driver(), 4_MiB, 4_MiB);
  ASSERT_TRUE(region.grow(4_KiB));
  void* const first = region.take(4_KiB, 4_KiB);
  void* const second = region.take(4_KiB, 4_KiB);
  EXPECT_TRUE(region.contains(first));
  EXPECT_FALSE(region.contains(&region));
  EXPECT_EQ(region.offset_of(first), Bytes());
  EXPECT_EQ(region.offset_of(second), 4_KiB);
}

TEST_F(HostRegionTest, AnEmptyRegionNeverGrows) {
  HostRegion region(machine_.driver(), Bytes(), 4_MiB);
  EXPECT_FALSE(region.grow(4_KiB));
  EXPECT_EQ(region.take(4_KiB, 4_KiB), nullptr);
  EXPECT_FALSE(region.contains(nullptr));
  region.trim();
  expect_sound(region);
}

TEST_F(HostRegionTest, ABudgetBeyondAllAddressesLeavesAnEmptyRegion) {
  testing::internal::CaptureStderr();
  HostRegion region(machine_.driver(), 4096_TiB, 64_MiB);
  EXPECT_FALSE(region.grow(4_KiB));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot be reserved"), std::string::npos);
}

class RefusedPages final : public HostPages {
 public:
  bool open(void*, Bytes) override {
    if (refuses) errno = why;
    return !refuses;
  }
  void close(void*, Bytes) override {}
  bool refuses = true;
  int why = ENOMEM;
};

TEST_F(HostRegionTest, MemoryThatOtherProgramsUseIsNoWarning) {
  RefusedPages pages;
  pages.why = kHostPagesInUseElsewhere;
  HostRegion region(machine_.driver(), 16_MiB, 4_MiB, pages);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(region.grow(4_KiB));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(HostRegionTest, WarnsOncePerRefusalPeriod) {
  RefusedPages pages;
  HostRegion region(machine_.driver(), 16_MiB, 4_MiB, pages);
  const auto lines_of = [&](bool grown) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(region.grow(4_KiB), grown);
    const std::string text = testing::internal::GetCapturedStderr();
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines_of(false), 1);
  EXPECT_EQ(lines_of(false), 0);
  pages.refuses = false;
  EXPECT_EQ(lines_of(true), 0);
  pages.refuses = true;
  EXPECT_EQ(lines_of(false), 1);
  expect_sound(region);
}

TEST_F(HostRegionTest, MemoryThatCannotBePinnedIsUsedUnpinnedWithOneWarning) {
  FaultDriver driver(machine_.driver());
  driver.fail({DriverCall::kRegisterHost, 1, Status(Code::kDriver, "memlock", 2), true});
  testing::internal::CaptureStderr();
  {
    HostRegion region(driver, 8_MiB, 4_MiB);
    EXPECT_TRUE(region.grow(4_KiB));
    EXPECT_TRUE(region.grow(4_KiB));
    EXPECT_FALSE(region.pinned());
    void* const found = region.take(4_MiB, 4_KiB);
    ASSERT_NE(found, nullptr);
    std::memset(found, 1, (4_MiB).value());
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tessera: host memory cannot be pinned, so copies will be slower: driver error 2: "
            "memlock; `tessera doctor` names the limit\n");
  EXPECT_EQ(driver.calls(DriverCall::kUnregisterHost), 0u);
}

}  // namespace
}  // namespace tessera
