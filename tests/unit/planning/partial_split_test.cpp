#include "planning/partial_split.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::uint64_t kGain = 4;

// Pages of 2 MiB side by side, the last of which are in host memory.
std::vector<SplitPage> pages_of(std::size_t count, std::size_t in_host) {
  std::vector<SplitPage> pages;
  for (std::size_t i = 0; i < count; ++i) pages.push_back({2_MiB * i, 2_MiB, i + in_host >= count});
  return pages;
}

std::vector<SplitPage> counted(std::vector<NamedStretch> stretches, std::size_t count = 4, std::size_t in_host = 2) {
  std::vector<SplitPage> pages = pages_of(count, in_host);
  count_named(std::move(stretches), pages);
  return pages;
}

std::vector<Bytes> named_of(const std::vector<SplitPage>& pages) {
  std::vector<Bytes> named;
  for (const SplitPage& page : pages) named.push_back(page.named);
  return named;
}

TEST(PartialSplit, AStretchWithoutAnEndEndsWhereTheNextBegins) {
  EXPECT_EQ(named_of(counted({{4_MiB, 0_B, 5}, {0_B, 0_B, 3}})), (std::vector{6_MiB, 6_MiB, 10_MiB, 10_MiB}));
  EXPECT_EQ(named_of(counted({{3_MiB, 0_B, 1}})), (std::vector{0_B, 1_MiB, 2_MiB, 2_MiB}));
  EXPECT_EQ(named_of(counted({{0_B, 0_B, 3}, {4_MiB, 0_B, 0}})), (std::vector{6_MiB, 6_MiB, 0_B, 0_B}))
      << "what was not named of late begins there all the same";
}

TEST(PartialSplit, AStretchWithAnEndMayOverlapOthers) {
  EXPECT_EQ(named_of(counted({{0_B, 8_MiB, 1}, {1_MiB, 2_MiB, 10}})), (std::vector{12_MiB, 12_MiB, 2_MiB, 2_MiB}));
  EXPECT_EQ(named_of(counted({{6_MiB, 64_MiB, 1}})), (std::vector{0_B, 0_B, 0_B, 2_MiB})) << "the block ends";
}

TEST(PartialSplit, AStretchThatIsKnownTwiceIsCountedTwice) {
  EXPECT_EQ(named_of(counted({{4_MiB, 0_B, 1}, {4_MiB, 0_B, 2}})), (std::vector{0_B, 0_B, 6_MiB, 6_MiB}));
}

TEST(PartialSplit, BytesOfSmallObjectsCountAsBytes) {
  // A hundred names of a kilobyte are less than one of the page.
  const std::vector<SplitPage> pages = counted({{0_B, 1_KiB, 100}, {2_MiB, 2_MiB, 1}});
  EXPECT_LT(pages[0].named, pages[1].named);
}

TEST(PartialSplit, ThePagesNamedMostArePairedWithThoseNamedLeast) {
  std::vector<SplitPage> pages = pages_of(6, 3);
  const std::uint64_t times[] = {9, 0, 1, 20, 4, 50};
  for (std::size_t i = 0; i < pages.size(); ++i) pages[i].named = pages[i].bytes * times[i];
  const auto exchanges = exchanges_that_pay(pages, kGain, 1_GiB);
  ASSERT_EQ(exchanges.size(), 2U) << "4 times are not worth as much as 9";
  EXPECT_EQ(exchanges[0].in, 5U);
  EXPECT_EQ(exchanges[0].out, 1U);
  EXPECT_EQ(exchanges[1].in, 3U);
  EXPECT_EQ(exchanges[1].out, 2U);
}

TEST(PartialSplit, WhatPaysNeedsAMarginAndTwiceTheCount) {
  const auto count = [](std::uint64_t in, std::uint64_t out) {
    std::vector<SplitPage> pages = pages_of(2, 1);
    pages[0].named = pages[0].bytes * out;
    pages[1].named = pages[1].bytes * in;
    return exchanges_that_pay(pages, kGain, 1_GiB).size();
  };
  EXPECT_EQ(count(3, 0), 0U);
  EXPECT_EQ(count(4, 0), 1U);
  EXPECT_EQ(count(103, 50), 0U);
  EXPECT_EQ(count(104, 50), 1U);
}

// A block that is read in a circle, some of it by two kernels each time: however far the circle has come.
TEST(PartialSplit, ACircleMovesNothing) {
  for (std::uint64_t turns = 0; turns < 50; ++turns) {
    for (std::size_t at = 0; at <= 8; ++at) {
      std::vector<NamedStretch> stretches;
      for (std::size_t i = 0; i < 8; ++i) {
        stretches.push_back({2_MiB * i, 0_B, (turns + (i < at ? 1 : 0)) * (i % 3 == 0 ? 2 : 1)});
      }
      for (std::size_t in_host = 1; in_host < 8; ++in_host) {
        EXPECT_TRUE(exchanges_that_pay(counted(stretches, 8, in_host), kGain, 1_GiB).empty()) << turns << " " << at;
      }
    }
  }
}

TEST(PartialSplit, OnlyPagesOfOneSizeAreExchanged) {
  std::vector<SplitPage> pages = {{0_B, 32_MiB, false, 0_B}, {32_MiB, 2_MiB, true, 200_MiB}};
  EXPECT_TRUE(exchanges_that_pay(pages, kGain, 1_GiB).empty());
  pages.push_back({34_MiB, 2_MiB, false, 0_B});
  EXPECT_EQ(exchanges_that_pay(pages, kGain, 1_GiB).size(), 1U);
}

TEST(PartialSplit, WhereNotAllCanBeHadTheBestIs) {
  std::vector<SplitPage> pages = pages_of(6, 3);
  for (std::size_t i = 3; i < 6; ++i) pages[i].named = pages[i].bytes * 10 * i;
  const auto exchanges = exchanges_that_pay(pages, kGain, 4_MiB);
  ASSERT_EQ(exchanges.size(), 2U);
  EXPECT_EQ(exchanges[0].in, 5U);
  EXPECT_EQ(exchanges[1].in, 4U);
  EXPECT_TRUE(exchanges_that_pay(pages, kGain, 1_MiB).empty());
}

TEST(PartialSplit, NoPagesAreNoWork) {
  std::vector<SplitPage> none;
  count_named({{0_B, 0_B, 1}}, none);
  EXPECT_TRUE(exchanges_that_pay(none, kGain, 1_GiB).empty());
}

}  // namespace
}  // namespace tessera
