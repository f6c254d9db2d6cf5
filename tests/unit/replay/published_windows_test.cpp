// Published results on windows and groups of layers, reproduced on the engine.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "published_replay.hpp"

namespace tessera::test {
namespace {

// A program queues 256 operations ahead of its device: a quarter of a layer of this size.
constexpr std::uint64_t kLayers = 8, kOpsPerLayer = 1024;
constexpr std::uint64_t kLayerTime = kOpsPerLayer * 8000;

void compute(TraceText& write, const TraceText::Ids& weights) {
  for (std::uint64_t i = 0; i < kOpsPerLayer; ++i) write.op(kLayerTime / kOpsPerLayer, weights);
}

// Equal layers, one weight each.
Trace uniform_layers() {
  TraceText write;
  TraceText::Ids weights;
  for (std::uint64_t i = 0; i < kLayers; ++i) weights.push_back(write.alloc(kBlock, "weight"));
  for (const std::uint64_t weight : weights) write.op(1, {}, {weight});
  write.iteration();
  for (const std::uint64_t weight : weights) compute(write, {weight});
  return write.done();
}

// Layers of equal time, of which one in four has a weight to fetch, so that the link suffices: the others alternate
// between two weights that stay.
Trace one_fetch_in_four() {
  TraceText write;
  TraceText::Ids fetched;
  for (int i = 0; i < 3; ++i) fetched.push_back(write.alloc(kBlock, "weight"));
  const std::uint64_t odd = write.alloc(kBlock, "weight"), even = write.alloc(kBlock, "weight");
  for (std::uint64_t weight = 1; weight <= even; ++weight) write.op(1, {}, {weight});
  write.iteration();
  for (const std::uint64_t weight : fetched) {
    compute(write, {weight, odd, even});
    for (const std::uint64_t stays : {odd, even, odd}) compute(write, {stays});
  }
  return write.done();
}

// Fetching a weight takes `ratio` layers' time.
ReplayResult with_window(const Trace& trace, Bytes device, double ratio, std::string_view window) {
  const std::string policy = window.empty() ? "stronghold" : fmt::format("stronghold:{}", window);
  ReplayOptions options = machine_for(policy, device, ratio * double{kLayerTime});
  options.iterations = 6;
  return played(trace, options);
}

// Whether the link has no time to spare or plenty: the window is one layer, and zero is too few.
TEST(PublishedWindows, StrongholdsWindowOfUniformLayersIsCopyOverComputeRoundedUp) {
  for (const double ratio : {0.7, 1.0}) {
    EXPECT_EQ(stall_of(with_window(uniform_layers(), 5 * kBlock, ratio, "")), Nanoseconds()) << ratio;
    EXPECT_EQ(stall_of(with_window(uniform_layers(), 5 * kBlock, ratio, "1")), Nanoseconds()) << ratio;
    EXPECT_GT(stall_of(with_window(uniform_layers(), 5 * kBlock, ratio, "0")), Nanoseconds()) << ratio;
  }
}

// A copy longer than a layer needs a window of several; if each layer had a weight, no window would suffice.
TEST(PublishedWindows, StrongholdsSmallestWindowWithoutAStallIsCopyOverComputeRoundedUp) {
  for (const auto& [ratio, window] : {std::pair(1.5, 2), std::pair(2.0, 2), std::pair(2.5, 3)}) {
    const auto stall = [ratio = ratio](std::string_view given) {
      return stall_of(with_window(one_fetch_in_four(), 4 * kBlock, ratio, given));
    };
    EXPECT_EQ(stall(""), Nanoseconds()) << ratio << ": its own choice";
    EXPECT_EQ(stall(fmt::format("{}", window)), Nanoseconds()) << ratio;
    // The shortfall of the shorter window, less the quarter of a layer that the program is ahead; three times in the
    // pass.
    const double lacks = 3 * (ratio - (window - 1) - 0.26) * double{kLayerTime};
    EXPECT_GE(stall(fmt::format("{}", window - 1)), Nanoseconds(static_cast<std::uint64_t>(lacks))) << ratio;
  }
}

// Layers of `ops` operations that save an activation each, with equal forward and backward times.
Trace saving_layers(std::uint64_t layers, std::uint64_t ops) {
  TraceText write;
  TraceText::Ids saved;
  write.iteration();
  for (std::uint64_t i = 0; i < layers; ++i) {
    saved.push_back(write.alloc(kBlock, "activation"));
    for (std::uint64_t op = 0; op < ops; ++op) write.op(kLayerTime / ops, {}, {saved.back()});
  }
  for (; !saved.empty(); saved.pop_back()) {
    for (std::uint64_t op = 0; op < ops; ++op) write.op(kLayerTime / ops, {saved.back()});
    write.free(saved.back());
  }
  return write.done();
}

// The first n layers' activations are offloaded; the device has room only for those of the others. A copy takes `ratio`
// layers' time.
ReplayResult with_group(std::uint64_t layers, std::uint64_t leaving, std::uint64_t ops, double ratio) {
  ReplayOptions options =
      machine_for(fmt::format("te-groups:{}", leaving), (layers - leaving) * kBlock, ratio * double{kLayerTime});
  options.iterations = 6;
  return played(saving_layers(layers, ops), options);
}

// For a program that is a whole pass ahead of its device, and for one that is less than a layer ahead.
constexpr std::uint64_t kOpsOfGroups[] = {1, 4, 320};

// As in its documentation. Copies of three layers leave no slack: whatever each takes longer than a layer is a stall.
TEST(PublishedWindows, TeGroupsOffloadsTwoOfFiveLayersWithoutAStallButNotThree) {
  for (const std::uint64_t ops : kOpsOfGroups) {
    const auto stall = [ops](std::uint64_t leaving) { return stall_of(with_group(5, leaving, ops, 1.05)); };
    EXPECT_EQ(stall(1), Nanoseconds()) << ops;
    EXPECT_EQ(stall(2), Nanoseconds()) << ops;
    EXPECT_GT(stall(3), Nanoseconds()) << ops;
    EXPECT_GT(stall(4), stall(3)) << ops;
  }
}

// And no longer than that, although operations are queued while copies for later ones are.
TEST(PublishedWindows, TeGroupsWithCopiesAsLongAsLayersWaitsForAFewOperations) {
  constexpr std::uint64_t kOps = 320;
  for (const std::uint64_t layers : {5u, 8u}) {
    EXPECT_LE(stall_of(with_group(layers, layers - 2, kOps, 1)).value(), 2 * layers * kLayerTime / kOps) << layers;
  }
}

TEST(PublishedWindows, TeGroupsDoesNotStallWithRoomForTheKeptLayers) {
  for (const std::uint64_t layers : {std::uint64_t{5}, std::uint64_t{8}}) {
    for (const std::uint64_t leaving : {std::uint64_t{1}, layers / 2, layers - 2}) {
      const ReplayResult result = with_group(layers, leaving, 320, 0.95);
      EXPECT_EQ(stall_of(result), Nanoseconds()) << layers << " " << leaving;
      EXPECT_EQ(result.stats.device_peak, ((layers - leaving) * kBlock).value()) << layers << " " << leaving;
    }
  }
}

// The same three blocks suffice without stalls, however many layers there are.
TEST(PublishedWindows, L2lIsFlatInTheDepth) {
  constexpr std::uint64_t kOps = 256;
  for (const std::uint64_t layers : {8u, 16u, 32u}) {
    TraceText write;
    TraceText::Ids weights;
    for (std::uint64_t i = 0; i < layers; ++i) weights.push_back(write.alloc(kBlock, "weight"));
    for (const std::uint64_t weight : weights) write.op(1, {}, {weight});
    write.iteration();
    for (const std::uint64_t weight : weights) {
      for (std::uint64_t i = 0; i < kOps; ++i) write.op(8000, {weight});
    }
    ReplayOptions options = machine_for("l2l", 3 * kBlock, 0.9 * 8000 * double{kOps});
    options.iterations = 6;
    const ReplayResult result = played(write.done(), options);
    EXPECT_EQ(stall_of(result), Nanoseconds()) << layers;
    EXPECT_EQ(result.stats.device_peak, (3 * kBlock).value()) << layers;
  }
}

}  // namespace
}  // namespace tessera::test
