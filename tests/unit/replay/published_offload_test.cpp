// Published results on activations offloaded to disks, reproduced on the engine.
#include <gtest/gtest.h>

#include "published_replay.hpp"

namespace tessera::test {
namespace {

constexpr std::uint64_t kActivations = 16, kForwardTime = 10'000'000;

// Layers with an activation each, read in the backward pass.
Trace training_step() {
  TraceText write;
  TraceText::Ids activations;
  write.iteration();
  for (std::uint64_t i = 0; i < kActivations; ++i) {
    activations.push_back(write.alloc(kBlock, "activation"));
    write.op(kForwardTime, {}, {activations.back()});
  }
  for (; !activations.empty(); activations.pop_back()) {
    write.op(2 * kForwardTime, {activations.back()});
    write.free(activations.back());
  }
  return write.done();
}

// Disks that each take `block_takes` for a block, behind a host with room for four.
ReplayResult with_disks(std::string_view policy, std::uint64_t part, std::uint64_t disks, double block_takes,
                        Bytes host = 4 * kBlock) {
  ReplayOptions options = machine_for(policy, part * kBlock, kForwardTime / 2.0);
  options.host_memory = host;
  options.file_memory = 4_GiB;
  const double rate = static_cast<double>(kBlock.value()) * 1e9 / block_takes * static_cast<double>(disks);
  options.file_read = options.file_write = static_cast<std::uint64_t>(rate);
  options.iterations = 8;
  return played(training_step(), options);
}

// The point in TBA's plot of throughput over kept activations: left of keeping all, at the same height.
TEST(PublishedOffload, TbaTakesTheTimeOfKeepingWithThreeFifthsOfTheActivations) {
  const ReplayResult kept = played(training_step(), machine_for("tba", (kActivations + 1) * kBlock, kForwardTime));
  const ReplayResult sent = with_disks("tba", 10, 1, kForwardTime / 2.0);
  EXPECT_EQ(stall_of(kept), Nanoseconds());
  EXPECT_LE(sent.last_pass.time.value(), kept.last_pass.time.value() * 102 / 100);
  EXPECT_GE(sent.last_pass.file_written, kBlock);
}

TEST(PublishedOffload, StrategiesOfTheFileUseItAlsoWhereTheHostHasRoomForAll) {
  for (const std::string_view policy : {"tba", "flashneuron", "zero-infinity"}) {
    const ReplayResult result = with_disks(policy, 10, 1, kForwardTime / 2.0, 64_GiB);
    EXPECT_GE(result.last_pass.file_written, 4 * kBlock) << policy;
    EXPECT_GE(result.last_pass.file_read, 4 * kBlock) << policy;
    EXPECT_LE(result.last_pass.file_written, kActivations * kBlock) << policy;
  }
  for (const std::string_view policy : {"auto", "recency", "capuchin"}) {
    EXPECT_EQ(with_disks(policy, 10, 1, kForwardTime / 2.0, 64_GiB).stats.bytes_file_written, 0u) << policy;
  }
}

TEST(PublishedOffload, LohansThroughputRisesWithTheDisksAndSaturates) {
  std::vector<double> times;
  for (const std::uint64_t disks : {1U, 2U, 4U, 8U, 16U}) {
    const ReplayResult result = with_disks("lohan", 6, disks, 6.0 * kForwardTime);
    times.push_back(static_cast<double>(result.last_pass.time.value()));
  }
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i], times[i - 1] * 1.01) << i;
  EXPECT_GT(times[0], times[1] * 1.3) << "one disk is the limit";
  EXPECT_LT(times[3], times[4] * 1.02) << "eight are not";
}

}  // namespace
}  // namespace tessera::test
