#include "lab/replay/cut_blocks.hpp"

#include <gtest/gtest.h>

#include "lab/replay/bounds.hpp"
#include "lab/replay/repeat.hpp"
#include "trace_text.hpp"

namespace tessera {
namespace {

// Block 1 is used by its quarters and once as a whole; block 2 always as a whole.
constexpr const char* kCutTrace = R"({"t":"alloc","id":1,"bytes":400}
{"t":"alloc","id":2,"bytes":50}
{"t":"op","name":"a","ns":1,"w":[[1,0,100]]}
{"t":"op","name":"b","ns":1,"r":[[1,0,100],2],"w":[[1,300,100]]}
{"t":"op","name":"c","ns":1,"r":[1]}
{"t":"op","name":"d","ns":1,"w":[[1,50,100]]}
{"t":"free","id":1}
)";

TEST(CutBlocks, TheStretchesOfABlockAreThoseThatAreUsedTogether) {
  const auto stretches = used_stretches(trace_of(kCutTrace));
  EXPECT_EQ(stretches[0], (std::vector<UsedStretch>{{0_B, 150_B}, {300_B, 100_B}}));
  EXPECT_TRUE(stretches[1].empty());
}

TEST(CutBlocks, PiecesAreUsedAsTheirBytesWere) {
  const Trace cut = cut_blocks(trace_of(kCutTrace));
  // 0-50, 50-100, 100-150, 150-300, 300-400, and block 2.
  ASSERT_EQ(cut.blocks.size(), 6U);
  EXPECT_EQ(cut.blocks[3].bytes, 150_B);
  ASSERT_EQ(cut.ops.size(), 4U);
  const auto used = [&cut](std::size_t op) {
    const auto operands = cut.operands_of(cut.ops[op]);
    return std::vector<std::uint32_t>(operands.begin(), operands.end());
  };
  EXPECT_EQ(used(0), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(used(2), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(used(3), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(cut.ops[3].writes, 2U);
  EXPECT_TRUE(cut.parts.empty());
  EXPECT_EQ(bounds_of(cut).liveness_peak, 450_B);
  EXPECT_EQ(bounds_of(cut).largest_step, 400_B);
}

TEST(CutBlocks, ATraceWithoutPartsStaysAsItIs) {
  const Trace trace = trace_of(random_trace(3, 8, 60));
  const Trace cut = cut_blocks(trace);
  EXPECT_EQ(cut.operands, trace.operands);
  EXPECT_EQ(cut.blocks.size(), trace.blocks.size());
  EXPECT_EQ(cut.events.size(), trace.events.size());
}

TEST(CutBlocks, RepeatedStepsUseTheSameParts) {
  const RepeatedTrace repeated = repeat_steps(trace_of(kCutTrace), 3);
  EXPECT_EQ(repeated.trace.parts.size(), 3 * trace_of(kCutTrace).parts.size());
  EXPECT_EQ(cut_blocks(repeated.trace).ops.size(), 12U);
}

}  // namespace
}  // namespace tessera
