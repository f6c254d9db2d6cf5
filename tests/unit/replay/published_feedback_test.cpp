// Capuchin's feedback as in its paper (ASPLOS 2020), on the engine.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <vector>

#include "base/page_class.hpp"
#include "published_replay.hpp"

namespace tessera::test {
namespace {

constexpr std::uint64_t kCopyTime = kMs;  // of a kBlock
constexpr double kRound = 0.05;           // of a copy
constexpr int kMostRounds = 20;

// Computes for the time of `copies` copies. A copy takes four times as many operations as a program queues ahead of its
// device: if the whole pass were queued, each trigger would be read long before its time, and all of them would be
// equal.
void compute(TraceText& write, double copies, const TraceText::Ids& reads, const TraceText::Ids& writes = {}) {
  constexpr std::uint64_t kOps = 1024;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(copies * double{kOps}); ++i) {
    write.op(kCopyTime / kOps, reads, writes);
  }
}

// Two blocks, one half as large as the other, make room for a third and are needed again in one step: each trigger
// alone would suffice, together one is late. If nothing else took time, half a copy earlier would be in time.
Trace two_for_one_step() {
  TraceText write;
  write.iteration();
  const std::uint64_t stays = write.alloc(kBlock, "input");
  const std::uint64_t large = write.alloc(kBlock, "activation"), small = write.alloc(kBlock / 2, "activation");
  compute(write, 0.5, {}, {large, small});
  compute(write, 3, {stays}, {stays});
  const std::uint64_t third = write.alloc(kBlock + kBlock / 2, "activation");
  compute(write, 0.5, {}, {third});
  write.free(third);
  compute(write, 4, {stays}, {stays});
  compute(write, 0.5, {large, small});
  for (const std::uint64_t block : {large, small, stays}) write.free(block);
  return write.done();
}

// With room for those three, and the page that plans reserve for small blocks.
Nanoseconds stall_with(const Trace& trace, std::string_view policy) {
  ReplayOptions options = machine_for(policy, 2 * kBlock + kBlock / 2 + kBasePage, double{kCopyTime});
  options.iterations = 6;
  return stall_of(played(trace, options));
}

TEST(PublishedFeedback, EachCapuchinRoundReducesLateFetchesToNone) {
  const Trace trace = two_for_one_step();
  std::vector<Nanoseconds> stalls;
  for (int round = 0; round <= kMostRounds && (stalls.empty() || stalls.back()); ++round) {
    const Nanoseconds stall = stall_with(trace, fmt::format("capuchin:{}", 1 + kRound * round));
    EXPECT_LE(stall, stalls.empty() ? stall : stalls.back()) << round;
    stalls.push_back(stall);
  }
  EXPECT_GE(stalls.front(), Nanoseconds(kCopyTime / 4)) << "half a copy, less what the program is ahead";
  EXPECT_EQ(stalls.back(), Nanoseconds());
}

// The forecast's exact queues require a lead of one and a half.
TEST(PublishedFeedback, CapuchinChoosesALeadWithoutLateFetches) {
  const Trace trace = two_for_one_step();
  EXPECT_GT(stall_with(trace, "capuchin:1.2"), Nanoseconds());
  EXPECT_EQ(stall_with(trace, "capuchin:1.5"), Nanoseconds());
  EXPECT_EQ(stall_with(trace, "capuchin"), Nanoseconds());
}

}  // namespace
}  // namespace tessera::test
