// Published results on offloading a share of the activations saved by a pipeline's passes, reproduced on the engine.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "interleaved.hpp"
#include "published_replay.hpp"

namespace tessera::test {
namespace {

// Saved by a pass, in sequence.
constexpr Bytes kSaved[] = {18_MiB, 22_MiB, 20_MiB, 24_MiB, 18_MiB, 22_MiB, 20_MiB, 24_MiB};
constexpr Bytes kSavedByAPass = 168_MiB;
constexpr Bytes kGradient = 18_MiB;
// A program queues 256 operations ahead of its device: less than a pass.
constexpr std::uint64_t kOpsPerTensor = 48, kOpTime = 10'000;

Trace pipeline(const PipelineShape& shape) {
  TraceText write;
  write.iteration();
  std::vector<TraceText::Ids> saved(shape.passes());
  for (const auto& [is_forward, chunk, micro_batch] : interleaved(shape)) {
    TraceText::Ids& own = saved[chunk * shape.micro_batches + micro_batch];
    for (const Bytes bytes : kSaved) {
      if (!is_forward) break;
      TraceText::Ids before;
      if (!own.empty()) before.push_back(own.back());
      own.push_back(write.alloc(bytes, "activation"));
      for (std::uint64_t i = 0; i < kOpsPerTensor; ++i) write.op(kOpTime, before, {own.back()});
    }
    if (is_forward) continue;
    const std::uint64_t gradient = write.alloc(kGradient, "gradient");
    for (; !own.empty(); own.pop_back()) {
      for (std::uint64_t i = 0; i < kOpsPerTensor; ++i) write.op(2 * kOpTime, {own.back()}, {gradient});
      write.free(own.back());
    }
    write.free(gradient);
  }
  return write.done();
}

// The largest page of an activation: the share's last block leaves in whole pages.
constexpr Bytes kPage = 16_MiB;

// Whether passes run at full speed, and only bytes of the share are fetched. Copying a block takes as long as computing
// an activation, so fetching on demand is visible.
bool is_enough(const Trace& trace, const PipelineShape& shape, double alpha, Bytes device) {
  ReplayOptions options = machine_for(fmt::format("atc24:{}", alpha), device, double{kOpsPerTensor * kOpTime});
  options.iterations = 5;
  const ReplayResult result = played(trace, options);
  const double share = alpha * static_cast<double>((shape.passes() * kSavedByAPass).value());
  return static_cast<double>(result.last_pass.in.value()) <= share + static_cast<double>(kPage.value()) &&
         stall_of(result) * 100 <= result.last_pass.compute;
}

// The published check. A plan is carried out when memory is short, so the minimum memory is determined: what the share
// leaves of the bytes in flight, plus less than half a pass for blocks in use, and the share of the pass that is being
// fetched.
TEST(PublishedPipeline, TheLeastMemoryOfAnInterleavedPipelineIsLinearInAlphaWithTheBytesInFlightAsItsSlope) {
  const PipelineShape shape;
  const Trace trace = pipeline(shape);
  for (const auto& [alpha, stays] : {std::pair(0.0, 10), std::pair(0.3, 7), std::pair(0.5, 5), std::pair(1.0, 0)}) {
    const Bytes line = kGradient + shape.in_flight() * kSavedByAPass * static_cast<std::uint64_t>(stays) / 10;
    const Bytes fetched = kSavedByAPass * static_cast<std::uint64_t>(10 - stays) / 10;
    EXPECT_TRUE(is_enough(trace, shape, alpha, line + kSavedByAPass / 2 + fetched)) << alpha;
    if (stays == 0) continue;  // one operation uses more than the line has
    EXPECT_FALSE(is_enough(trace, shape, alpha, line - 8_MiB)) << alpha;
  }
}

}  // namespace
}  // namespace tessera::test
