#include "api/run_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Options with(const std::string& summary, const LauncherRank& rank = {}) {
  Options options;
  options.summary = summary;
  options.rank = rank;
  return options;
}

TEST(RunSummary, TheBudgetsAreNamed) {
  const RunSummary summary(with("on"));
  EXPECT_EQ(summary.line_at_begin(DeviceId(1), {8_GiB, 16_GiB, Bytes()}),
            "device 1: the heap has 8.00 GiB of device memory, 16.0 GiB of host memory, no spill file (--file-dir adds "
            "one)");
  EXPECT_THAT(summary.line_at_begin(DeviceId(0), {8_GiB, 16_GiB, 100_GiB}), EndsWith(", 100 GiB in spill files"));
}

TEST(RunSummary, WhatCameOfItAndWhatMayHelp) {
  const RunSummary summary(with("on"));
  tessera_stats stats{};
  EXPECT_EQ(summary.line_at_end(stats), "") << "no device was used";
  stats.devices = 1;
  stats.peak_live_bytes = (3_GiB).value();
  EXPECT_EQ(summary.line_at_end(stats), "at the end: 3.00 GiB of blocks at most, all in device memory; nothing moved");

  stats.device_peak = (1_GiB).value();
  stats.evictions = 7;
  stats.bytes_in = (4_GiB).value();
  stats.bytes_out = (5_GiB).value();
  stats.stalls = 9;
  stats.stall_ns = 2'500'000'000;
  EXPECT_EQ(
      summary.line_at_end(stats),
      "at the end: 3.00 GiB of blocks at most, 1.00 GiB in device memory; 4.00 GiB fetched, 5.00 GiB evicted, 2.5 s "
      "in 9 waits; --history FILE and `tessera report FILE` show when and why");
  stats.bytes_file_read = 1;
  EXPECT_THAT(summary.line_at_end(stats), HasSubstr("--host-memory"));
}

TEST(RunSummary, OneRankSpeaksForItsJobUnlessEachIsAsked) {
  tessera_stats stats{};
  stats.devices = 1;
  const auto lines_of = [&](const Options& options) {
    const RunSummary summary(options);
    return summary.line_at_begin(DeviceId(0), {1_GiB, 1_GiB, Bytes()}) + "\n" + summary.line_at_end(stats);
  };
  const LauncherRank first{"0", true}, second{"1", false};
  EXPECT_THAT(lines_of(with("first", first)),
              AllOf(StartsWith("rank 0: device 0: "), HasSubstr("\nrank 0: at the end")));
  EXPECT_EQ(lines_of(with("first", second)), "\n");
  EXPECT_THAT(lines_of(with("on", second)), StartsWith("rank 1: device 0: "));
  EXPECT_THAT(lines_of(with("first")), StartsWith("device 0: ")) << "no launcher";
  EXPECT_EQ(lines_of(with("off", first)), "\n");
}

// The lines as they are printed, with the figures of a real heap.
class PrintedSummary : public AllocatorMachine {
 protected:
  std::string printed(const std::string& summary, const std::string& level) {
    Options options = small(16_MiB, 64_MiB);
    options.summary = summary;
    options.log_level = level;
    ::testing::internal::CaptureStderr();
    start(options);
    for (std::uint32_t i = 0; i < 8; ++i) write(allocate(4_MiB), i, 4_MiB);
    EXPECT_TRUE(allocator_->reports().finish().is_ok());
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(PrintedSummary, AtBeginAndEnd) {
  const std::string lines = printed("on", "warning");
  EXPECT_THAT(
      lines, HasSubstr("tessera: device 0: the heap has 16.0 MiB of device memory, 64.0 MiB of host memory, no spill"));
  EXPECT_THAT(lines, HasSubstr("tessera: at the end: 32.0 MiB of blocks at most, 16.0 MiB in device memory; "));
}

TEST_F(PrintedSummary, NotUnlessItIsAskedFor) { EXPECT_THAT(printed("off", "warning"), Not(HasSubstr("at the end"))); }

TEST_F(PrintedSummary, NotWhereOnlyErrorsAreWanted) {
  EXPECT_THAT(printed("on", "error"), Not(HasSubstr("tessera: ")));
}

}  // namespace
}  // namespace tessera
