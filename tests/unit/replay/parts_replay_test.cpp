// Operations that use parts of a block, or more than the device: known to the allocator, or not.
#include <gtest/gtest.h>

#include <string>

#include "free_calls.hpp"
#include "lab/replay/replayer.hpp"
#include "trace_text.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kPartTime = 1'000'000;

// With a link that moves 32 MiB in a millisecond.
ReplayOptions half_of_it() {
  ReplayOptions options = test::with_free_calls();
  options.policy = "lru";
  options.device_memory = 256_MiB;
  options.host_memory = 1_GiB;
  options.h2d = options.d2h = (32_MiB).value() * 1000;
  return options;
}

ReplayResult replayed(const std::string& text, const ReplayOptions& options) {
  auto result = replay(trace_of(text), options);
  EXPECT_TRUE(result.is_ok()) << result.status().to_string();
  return result.is_ok() ? result.take() : ReplayResult();
}

// A block of eight stretches of 64 MiB, used in turn: on a device for four, each pass fetches what it needs.
std::string arena_trace(bool in_parts) {
  std::string text = alloc_line(1, 512_MiB);
  const auto op = [&](const char* use, int stretch) {
    const std::uint64_t bytes = Bytes(64_MiB).value();
    const std::string part =
        "[1," + std::to_string(bytes * static_cast<std::uint64_t>(stretch)) + "," + std::to_string(bytes) + "]";
    text += "{\"t\":\"op\",\"name\":\"k" + std::to_string(stretch) + "\",\"ns\":1000000,\"" + use + "\":[" +
            (in_parts ? part : std::string("1")) + "]}\n";
  };
  for (int stretch = 0; stretch < 8; ++stretch) op("w", stretch);
  for (int pass = 0; pass < 3; ++pass) {
    text += "{\"t\":\"mark\",\"kind\":\"iteration\",\"n\":" + std::to_string(pass) + "}\n";
    for (int stretch = 0; stretch < 8; ++stretch) op("r", stretch);
  }
  return text;
}

TEST(ReplayOfParts, PartsOfABlockThatIsLargerThanTheDevicePassThrough) {
  ReplayOptions options = half_of_it();
  options.iterations = 3;
  const ReplayResult result = replayed(arena_trace(true), options);
  EXPECT_EQ(result.bounds.largest_step, 64_MiB);
  EXPECT_EQ(result.bounds.liveness_peak, 512_MiB);
  EXPECT_GE(result.last_pass.in, 4 * 64_MiB) << "four stretches have no room";
  EXPECT_GE(result.makespan, result.lower_bound);
}

// Of 512 MiB the device has 256; a page of 32 MiB is kept for other blocks. The rest comes over the link for each
// operation, in place of 9/16 of its millisecond.
TEST(ReplayOfParts, WhatDoesNotFitIsUsedInHostMemory) {
  ReplayOptions options = half_of_it();
  const ReplayResult result = replayed(arena_trace(false), options);
  EXPECT_EQ(result.last_pass.in, 24 * 288_MiB);
  EXPECT_EQ(result.last_pass.time, Nanoseconds(24 * (9 * kPartTime + kPartTime * 7 / 16)));
  EXPECT_EQ(result.stats.bytes_in + result.stats.bytes_out, 0U) << "nothing moves";
  options.host_memory = 128_MiB;
  EXPECT_EQ(replay(trace_of(arena_trace(false)), options).status().code(), Code::kOutOfMemory);
  options.host_memory = 1_GiB;
  options.host_frames = false;
  EXPECT_EQ(replay(trace_of(arena_trace(false)), options).status().code(), Code::kOutOfMemory);
}

// The same, but operations use stretches of 64 MiB, which the allocator does not know: four are in host memory, half of
// another is.
TEST(ReplayOfParts, OperationsUseTheirPartsOfABlockThatIsNamedWhole) {
  ReplayOptions options = half_of_it();
  options.extents = false;
  options.iterations = 2;
  const ReplayResult result = replayed(arena_trace(true), options);
  EXPECT_EQ(result.last_pass.in, 3 * 288_MiB);
  EXPECT_EQ(result.last_pass.time, Nanoseconds(3 * (9 * kPartTime + 3 * kPartTime + kPartTime / 2)));
}

// A block of `stretches` of 32 MiB, each of which a pass uses once, the hot ones from `hot` on 16 times.
std::string hot_trace(int stretches, int hot, int hot_end) {
  std::string text = alloc_line(1, 32_MiB * static_cast<std::uint64_t>(stretches));
  text += "{\"t\":\"op\",\"name\":\"fill\",\"ns\":1000000,\"w\":[1]}\n";
  const auto read = [&text](int stretch) {
    text += "{\"t\":\"op\",\"name\":\"k" + std::to_string(stretch) + "\",\"ns\":1000000,\"r\":[[1," +
            std::to_string((32_MiB * static_cast<std::uint64_t>(stretch)).value()) + "," +
            std::to_string((32_MiB).value()) + "]]}\n";
  };
  text += "{\"t\":\"mark\",\"kind\":\"iteration\",\"n\":0}\n";
  for (int stretch = 0; stretch < stretches; ++stretch) read(stretch);
  for (int turn = 1; turn < 16; ++turn) {
    for (int stretch = hot; stretch < hot_end; ++stretch) read(stretch);
  }
  return text;
}

// The device has eight pages, one of which is kept for other blocks. In the first pass the last nine of the sixteen are
// in host memory; four hot ones among them change places with others, once, as one pass shows which they are.
TEST(ReplayOfParts, AHotPartOfABlockComesToTheDevice) {
  ReplayOptions options = half_of_it();
  options.extents = false;
  options.iterations = 8;
  options.h2d /= 2;
  for (const auto& [hot, hot_end] : {std::pair(12, 16), std::pair(0, 4), std::pair(5, 9)}) {
    const ReplayResult result = replayed(hot_trace(16, hot, hot_end), options);
    EXPECT_EQ(result.last_pass.in, 9 * 32_MiB) << "each of the others once";
    const std::uint64_t ops = 16 + 15 * 4;
    EXPECT_EQ(result.last_pass.time, Nanoseconds((ops + 9) * kPartTime))
        << "over the link it takes another millisecond";
    EXPECT_EQ(result.stats.bytes_out,
              static_cast<std::uint64_t>(std::max(0, hot_end - std::max(hot, 7))) * (32_MiB).value());
  }
}

// Blocks of 1.25, 1.5 and 2 times the device, some of which two operations use in each turn.
TEST(ReplayOfParts, ABlockThatIsReadInACircleStaysAsItIs) {
  for (const int stretches : {10, 12, 16}) {
    for (const int twice : {0, 3, 10}) {
      std::string text = hot_trace(stretches, 0, 0);
      ReplayOptions options = half_of_it();
      options.extents = false;
      options.iterations = 100;
      for (int stretch = 0; stretch < std::min(twice, stretches); ++stretch) {
        text += "{\"t\":\"op\",\"name\":\"again\",\"ns\":1000000,\"r\":[[1," +
                std::to_string((32_MiB * static_cast<std::uint64_t>(stretch)).value()) + "," +
                std::to_string((32_MiB).value()) + "]]}\n";
      }
      const ReplayResult result = replayed(text, options);
      EXPECT_EQ(result.stats.bytes_in + result.stats.bytes_out, 0U) << stretches << " " << twice;
    }
  }
}

// Of a reservation of eight handles the device has four.
TEST(ReplayOfParts, AReservationIsFilledWithHandles) {
  ReplayOptions options = half_of_it();
  options.handles = 64_MiB;
  options.iterations = 3;
  ReplayResult result = replayed(arena_trace(true), options);
  EXPECT_EQ(result.stats.allocations, 8U);
  EXPECT_EQ(result.stats.live_blocks, 8U);
  EXPECT_GE(result.last_pass.in, 23 * 64_MiB)
      << "least recently used: each stretch is fetched, one may be before the pass";
  options.device_memory = 1_GiB;
  options.extents = false;
  result = replayed(arena_trace(true) + "{\"t\":\"free\",\"id\":1}\n", options);
  EXPECT_EQ(result.last_pass.in, 0_B);
  EXPECT_EQ(result.last_pass.time, result.last_pass.compute);
  EXPECT_EQ(result.stats.live_blocks, 0U);
}

// Blocks that operations use as a whole are allocated.
TEST(ReplayOfParts, BlocksWithoutPartsAreNotMapped) {
  ReplayOptions options = half_of_it();
  options.device_memory = 1_GiB;
  options.handles = 64_MiB;
  EXPECT_EQ(replayed(arena_trace(false), options).stats.allocations, 1U);
}

TEST(ReplayOfParts, APlanForPartsKeepsSomeOfThem) {
  ReplayOptions options = half_of_it();
  options.iterations = 12;
  const std::uint64_t lru = replayed(arena_trace(true), options).last_pass.in.value();  // fetches each before its use
  options.policy = "auto";
  EXPECT_LT(replayed(arena_trace(true), options).last_pass.in.value(), lru * 4 / 5);
}

}  // namespace
}  // namespace tessera
