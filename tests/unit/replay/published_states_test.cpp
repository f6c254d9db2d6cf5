// Published results on offloaded model states, reproduced on the engine.
#include <gtest/gtest.h>

#include <string_view>

#include "published_replay.hpp"

namespace tessera::test {
namespace {

// 2^24 parameters per layer: a weight and a gradient of 2 bytes for each, a master copy and two moments of 4.
constexpr Bytes kTwoBytes = kBlock;
constexpr std::uint64_t kStates = 3;
constexpr std::uint64_t kOpsOfALayer = 128, kOpOfALayer = 80'000;
constexpr double kBlockTakes = 0.1 * double{kOpsOfALayer * kOpOfALayer};

// Forward, backward, Adam: only model states.
Trace training_of(std::uint64_t layers) {
  TraceText write;
  std::vector<TraceText::Ids> states(layers);  // the weight first
  for (TraceText::Ids& own : states) {
    own.push_back(write.alloc(kTwoBytes, "weight"));
    for (std::uint64_t i = 0; i < kStates; ++i) own.push_back(write.alloc(2 * kTwoBytes, "optimizer"));
    write.op(1, {}, own);
  }
  const auto compute = [&write](const TraceText::Ids& reads, const TraceText::Ids& writes) {
    for (std::uint64_t i = 0; i < kOpsOfALayer; ++i) write.op(kOpOfALayer, reads, writes);
  };
  write.iteration();
  for (const TraceText::Ids& own : states) compute({own[0]}, {});
  TraceText::Ids gradients(layers);
  for (std::uint64_t i = layers; i-- > 0;) {
    gradients[i] = write.alloc(kTwoBytes, "weight-gradient");
    compute({states[i][0]}, {gradients[i]});
  }
  for (std::uint64_t i = 0; i < layers; ++i) {
    TraceText::Ids reads = states[i];
    reads.push_back(gradients[i]);
    compute(reads, states[i]);
    write.free(gradients[i]);
  }
  return write.done();
}

constexpr std::uint64_t kStatesAndGradient = 2 * kStates + 1;  // blocks of a layer that ZeRO-Offload offloads

LastPass pass_with(std::string_view policy, std::uint64_t layers, std::uint64_t blocks) {
  ReplayOptions options = machine_for(policy, blocks * kBlock, kBlockTakes);
  options.iterations = 5;
  return played(training_of(layers), options).last_pass;
}

bool keeps_up(const LastPass& pass) { return (pass.time - pass.compute) * 100 <= pass.compute; }

// As in the formulas, 2 of the 16 bytes per parameter stay. The update runs on the device here, with two layers' states
// and gradients resident: those in use, and the next.
TEST(PublishedStates, ZeroOffloadKeepsTheWeightsOfEachLayer) {
  for (const std::uint64_t layers : {4U, 8U}) {
    const std::uint64_t least = layers + 2 * kStatesAndGradient;
    const LastPass pass = pass_with("zero-offload", layers, least);
    EXPECT_TRUE(keeps_up(pass)) << layers;
    EXPECT_FALSE(keeps_up(pass_with("zero-offload", layers, least - 1))) << layers;
    // The gradient made last is used first, so it stays.
    EXPECT_LE(pass.in, layers * kStatesAndGradient * kBlock) << layers;
    EXPECT_GE(pass.in, (layers * kStatesAndGradient - 2) * kBlock) << layers;
  }
}

TEST(PublishedStates, ZeroInfinityMemoryIsIndependentOfTheNumberOfLayers) {
  constexpr std::uint64_t kLeast = 2 * (kStatesAndGradient + 1);
  for (const std::uint64_t layers : {4U, 8U}) {
    EXPECT_TRUE(keeps_up(pass_with("zero-infinity", layers, kLeast))) << layers;
    EXPECT_FALSE(keeps_up(pass_with("zero-infinity", layers, kLeast - 1))) << layers;
  }
}

}  // namespace
}  // namespace tessera::test
