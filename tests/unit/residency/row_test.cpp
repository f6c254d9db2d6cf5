#include "residency/pages/row.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using DeviceRun = Run;  // gtest has a member of that name

TEST(Row, PartsAre32To64MiBAndFillTheRun) {
  for (std::uint32_t large = 8; large < 13; ++large) {
    for (std::uint32_t base = 0; base < kBasePerLarge; ++base) {
      const RunShape whole{large, base};
      Bytes sum;
      for (const RunShape part : part_shapes(whole)) {
        EXPECT_GE(part.bytes(), kLargePage) << large << " and " << base;
        EXPECT_LE(part.bytes(), kMostPart) << large << " and " << base;
        sum += part.bytes();
      }
      EXPECT_EQ(sum, whole.bytes());
    }
  }
}

TEST(Row, ARunThatBecomesOneKeepsItsPagesAndTheirNumbers) {
  DeviceRun run(Address(std::uint64_t{1} << 32), {8, 3}, TagId());
  run.pages[3].copy.epoch = Epoch(7);
  run.pages[10].copy.epoch = Epoch(9);  // the last base page
  const auto parts = make_row(run);
  ASSERT_EQ(parts.size(), 5U);  // of 2, 2, 2, 1 and 1 large pages
  EXPECT_EQ(page_of_row(run, 3)->copy.epoch, Epoch(7));
  EXPECT_EQ(page_of_row(run, 3).run, run.parts[1]);
  EXPECT_EQ(page_of_row(run, 10)->copy.epoch, Epoch(9));
  EXPECT_EQ(page_of_row(run, 10).address(), run.page_address(10));
  EXPECT_TRUE(run.pages.empty());
  EXPECT_EQ(run.missing.load(), 11U);
  EXPECT_EQ(validate_row(run).to_string(), "ok");
  for (const auto& part : parts) EXPECT_EQ(validate_run(*part).to_string(), "ok");
  EXPECT_EQ(pages_of(run).size(), 11U);
}

TEST(Row, AStretchMeansThePartsWithBytesInIt) {
  DeviceRun run(Address(std::uint64_t{1} << 32), {8, 0}, TagId());
  const auto parts = make_row(run);
  const auto count = [&run](Bytes offset, Bytes bytes) { return parts_in(run, {offset, bytes}).size(); };
  EXPECT_EQ(count(0_B, 1_B), 1U);
  EXPECT_EQ(count(64_MiB - 1_B, 2_B), 2U);
  EXPECT_EQ(count(64_MiB, 64_MiB), 1U);
  EXPECT_EQ(count(0_B, 256_MiB), 4U);
  EXPECT_EQ(parts_in(run, {200_MiB, 1_B}).front(), run.parts.back());
  EXPECT_EQ(count(256_MiB, 1_B), 0U);
}

TEST(Row, UsesOfTheWholeBlockCountForItsParts) {
  DeviceRun run(Address(std::uint64_t{1} << 32), {8, 0}, TagId());
  run.used.store(Epoch(5));
  run.streams.store(2);
  const auto parts = make_row(run);
  DeviceRun& part = *parts.front();
  EXPECT_EQ(part.last_work(), Epoch(5));
  EXPECT_EQ(part.users(), 2U);
  part.used.store(Epoch(8));
  part.streams.store(4);
  EXPECT_EQ(part.last_work(), Epoch(8));
  EXPECT_EQ(part.users(), 6U);
  run.written.store(Epoch(9));
  EXPECT_EQ(part.last_write(), Epoch(9));
  EXPECT_EQ(&part.learned(), &run);
  run.is_cut.store(true);
  EXPECT_EQ(&part.learned(), &part) << "extents are known, so parts have uses of their own";
  run.pins.store(1);
  EXPECT_FALSE(part.is_evictable());
  end_block(run);
  EXPECT_FALSE(run.is_cut.load());
  EXPECT_EQ(run.streams.load(), 6U) << "the block is free when the work on its parts is over";
}

TEST(Row, SumsThatDoNotAddUpAreFound) {
  DeviceRun run(Address(std::uint64_t{1} << 32), {8, 0}, TagId());
  const auto parts = make_row(run);
  parts.front()->missing.fetch_add(1);
  EXPECT_NE(validate_row(run).to_string(), "ok");
  run.missing.fetch_add(1);
  EXPECT_EQ(validate_row(run).to_string(), "ok");
  run.bytes_in(PageState::kCold) += 2_MiB;
  EXPECT_NE(validate_row(run).to_string(), "ok");
}

}  // namespace
}  // namespace tessera
