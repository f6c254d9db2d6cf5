#include "found_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "division_numbers.hpp"
#include "heap_range.hpp"

namespace tessera::preload {

// Replaces the library's own definitions, which need a driver.
namespace detail {
constinit std::atomic<tessera_allocator*> allocator{nullptr};
constinit std::atomic<CUdeviceptr> range_low{0};
constinit std::atomic<CUdeviceptr> range_high{0};
constinit std::atomic<bool> guards_all{false};
constinit std::atomic<bool> several{false};
}  // namespace detail

bool in_a_heap(CUdeviceptr) { return true; }

namespace {

using List = std::vector<std::uint64_t>;

List list(std::span<const std::uint64_t> words) { return {words.begin(), words.end()}; }

Words scanned(const void* begin, std::size_t bytes) {
  FoundWords found;
  found.scan(begin, bytes);
  return Words(found.words());
}

// Zeros with one word at a byte offset.
std::vector<std::uint8_t> bytes_with(std::size_t bytes, std::size_t at, std::uint64_t word) {
  std::vector<std::uint8_t> all(bytes);
  std::memcpy(all.data() + at, &word, sizeof(word));
  return all;
}

std::uint64_t pair_of(std::uint32_t lower, std::uint32_t upper) { return std::uint64_t{upper} << 32 | lower; }

// Also more than an object holds without a vector, and with larger parameters in between.
TEST(FoundWords, ParametersAtPlacesAreThoseLookedAtOneByOne) {
  struct Place {
    std::uint32_t index, bytes;
  };
  const HeapRange heap(kHighHeap);
  for (const std::uint32_t count : {0u, 1u, 16u, 64u, 65u, 100u}) {
    std::vector<std::array<std::uint64_t, 2>> words(count);
    std::vector<void*> parameters;
    std::vector<Place> places;
    FoundWords expected;
    for (std::uint32_t i = 0; i < count; ++i) {
      words[i] = {kHighHeap + i * 8, i % 3 == 0 ? kHighHeap + i * 8 + 4 : 0};
      parameters.push_back(words[i].data());
      if (i % 5 == 4) continue;  // a parameter without a place
      const bool is_large = i % 7 == 6;
      if (i % 4 == 3) words[i][0] = 42;
      places.push_back({i, is_large ? 16u : 8u});
      if (is_large) {
        expected.scan(words[i].data(), 16);
      } else {
        expected.look_at(words[i].data());
      }
    }
    FoundWords found;
    found.look_at_all(parameters.data(), std::span<const Place>(places),
                      [&found](const void* at, const Place& place) { found.scan(at, place.bytes); });
    EXPECT_EQ(list(found.words().certain), list(expected.words().certain)) << count;
    EXPECT_EQ(list(found.words().maybe), list(expected.words().maybe)) << count;
  }
}

TEST(FoundWords, AParameterOfOneWordIsCertainWhereverBlocksLie) {
  for (const std::uint64_t low : {kHighHeap, kLowHeap}) {
    const HeapRange heap(low);
    const std::uint64_t inside = low + 7, before = low - 1, behind = low + kHeapBytes;
    FoundWords found;
    for (const std::uint64_t* word : {&inside, &before, &behind}) found.look_at(word);
    EXPECT_EQ(list(found.words().certain), List{inside});
    EXPECT_TRUE(found.words().all_certain());
  }
}

TEST(FoundWords, EveryByteOfAStructIsLookedAt) {
  const HeapRange heap(kHighHeap);
  for (std::size_t bytes = 8; bytes < 60; ++bytes) {
    for (std::size_t at = 0; at + 8 <= bytes; ++at) {
      const auto all = bytes_with(bytes, at, kHighHeap + kHeapBytes - 1);
      const Words found = scanned(all.data(), bytes);
      EXPECT_EQ(at % 8 == 0 ? found.certain : found.maybe, List{kHighHeap + kHeapBytes - 1}) << at << " of " << bytes;
      EXPECT_EQ(found.certain.size() + found.likely.size() + found.maybe.size(), 1u);
    }
  }
}

TEST(FoundWords, AHeapMayReachOverAnyBorder) {
  const std::uint64_t border = 0x6f00'0000'0000;
  for (const std::uint64_t low : {border - (1u << 25), std::uint64_t{1} << 48, (std::uint64_t{1} << 48) - (1u << 25)}) {
    const HeapRange heap(low);
    for (const std::uint64_t word : {low, low + kHeapBytes - 1}) {
      const auto all = bytes_with(64, 24, word);
      EXPECT_EQ(scanned(all.data(), all.size()).certain, List{word});
    }
  }
}

TEST(FoundWords, ManyAreFoundInTheirOrder) {
  const HeapRange heap(kHighHeap);
  List words;
  for (std::uint64_t i = 0; i < 300; ++i) words.push_back(kHighHeap + 4096 * i);
  EXPECT_EQ(scanned(words.data(), words.size() * 8).certain, words);
}

TEST(FoundWords, InALowHeapStructWordsAreLikelyAndPackedWordsMustBeBlocks) {
  const HeapRange heap(kLowHeap);
  const std::uint64_t inside = kLowHeap + 4100, block = kLowHeap + 4096;
  EXPECT_EQ(scanned(bytes_with(40, 16, inside).data(), 40).likely, List{inside});
  EXPECT_EQ(scanned(bytes_with(40, 17, block).data(), 40).maybe, List{block});
  EXPECT_TRUE(scanned(bytes_with(40, 17, inside).data(), 40).empty());
  EXPECT_TRUE(scanned(bytes_with(40, 20, inside).data(), 40).empty());
}

bool has(const List& words, std::uint64_t word) { return std::ranges::find(words, word) != words.end(); }

TEST(FoundWords, DivisionConstantsAreNotAddresses) {
  const HeapRange heap(kLowHeap);
  for (std::uint32_t divisor = 5; divisor < 60000; divisor += 7) {
    // PyTorch's form: 2^32 (2^shift - divisor) / divisor + 1.
    const auto shift = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    const auto multiplier =
        static_cast<std::uint32_t>((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - divisor) / divisor + 1);
    const std::uint32_t front[] = {0, divisor, multiplier, shift};
    const std::uint32_t behind[] = {multiplier, shift, divisor, 0};
    const std::uint32_t alone[] = {multiplier, shift, 0, 0};
    EXPECT_FALSE(has(scanned(front, sizeof(front)).likely, pair_of(multiplier, shift))) << divisor;
    EXPECT_FALSE(has(scanned(behind, sizeof(behind)).likely, pair_of(multiplier, shift))) << divisor;
    EXPECT_TRUE(has(scanned(alone, sizeof(alone)).likely, pair_of(multiplier, shift)) || shift < 4) << divisor;
    // CUTLASS's form: 2^(31 + bits) / divisor, rounded up.
    const std::uint64_t power = std::uint64_t{1} << (31 + shift);
    EXPECT_TRUE(multiplies_for(divisor, static_cast<std::uint32_t>((power + divisor - 1) / divisor), shift - 1));
  }
}

TEST(FoundWords, WordsAreJoinedByKind) {
  Words words;
  words.certain = {3, 1, 3};
  Words more;
  more.likely = {5};
  more.maybe = {7, 7};
  words.append(more);
  words.keep_each_once();
  EXPECT_EQ(WordSpans(words).in_a_row(), (List{1, 3, 5, 7}));
}

}  // namespace
}  // namespace tessera::preload
