#include "lab/replay/trace_builder.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Ids = std::vector<std::uint64_t>;

TEST(TraceBuilder, AnIdThatIsUsedAgainIsAnotherBlock) {
  TraceBuilder builder;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(builder.alloc({.id = 7, .bytes = 1_MiB, .tag = "t", .recompute = {}}).is_ok());
    ASSERT_TRUE(builder.free(7).is_ok());
  }
  const Trace trace = builder.take();
  ASSERT_EQ(trace.blocks.size(), 2U);
  EXPECT_EQ(trace.events[3].index, 1U);
  EXPECT_EQ(trace.words[trace.blocks[1].tag], "t");
}

TEST(TraceBuilder, OperandsAreReadThenUpdatedThenWrittenEachOnce) {
  TraceBuilder builder;
  for (std::uint64_t id : {10U, 11U, 12U}) {
    ASSERT_TRUE(builder.alloc({.id = id, .bytes = 1_MiB, .tag = {}, .recompute = {}}).is_ok());
  }
  const Ids reads{12, 10, 12}, writes{11, 10};
  ASSERT_TRUE(builder.op({.name = "op", .time = Nanoseconds(5), .reads = reads, .writes = writes}).is_ok());
  const Trace trace = builder.take();
  const TraceOp& op = trace.ops[0];
  EXPECT_EQ(op.reads, 1U);
  EXPECT_EQ(op.writes, 2U);
  EXPECT_EQ(op.updates, 1U);
  EXPECT_EQ(trace.operands, (std::vector<std::uint32_t>{2, 0, 1}));
}

TEST(TraceBuilder, PartsAreInsideTheirBlocksAndCountOnce) {
  TraceBuilder builder;
  ASSERT_TRUE(builder.alloc({.id = 1, .bytes = 100_B, .tag = {}, .recompute = {}}).is_ok());
  const Ids reads{1};
  using Parts = std::vector<TraceBuilder::Part>;
  const auto op = [&](const Parts& parts) {
    return builder.op({.name = "op", .time = Nanoseconds(5), .reads = reads, .writes = {}, .parts = parts});
  };
  EXPECT_FALSE(op({{1, 90_B, 11_B}}).is_ok());
  EXPECT_FALSE(op({{1, 101_B, 1_B}}).is_ok());
  EXPECT_FALSE(op({{1, 0_B, 0_B}}).is_ok());
  EXPECT_FALSE(op({{2, 0_B, 1_B}}).is_ok());
  EXPECT_TRUE(op({{1, 50_B, 50_B}, {1, 0_B, 10_B}, {1, 50_B, 50_B}}).is_ok());
  const Trace trace = builder.take();
  ASSERT_EQ(trace.ops.size(), 1U) << "refused operations add nothing";
  ASSERT_EQ(trace.parts.size(), 2U);
  EXPECT_EQ(trace.parts[0].offset, 0_B);
  EXPECT_EQ(trace.parts[1].offset, 50_B);
}

TEST(TraceBuilder, RefusesImpossibleEvents) {
  TraceBuilder builder;
  ASSERT_TRUE(builder.alloc({.id = 1, .bytes = 1_MiB, .tag = {}, .recompute = {}}).is_ok());
  EXPECT_FALSE(builder.alloc({.id = 1, .bytes = 1_MiB, .tag = {}, .recompute = {}}).is_ok());
  EXPECT_FALSE(builder.alloc({.id = 2, .bytes = {}, .tag = {}, .recompute = {}}).is_ok());
  EXPECT_FALSE(builder.free(2).is_ok());
  const Ids reads{2};
  EXPECT_EQ(builder.op({.name = "", .time = {}, .reads = reads, .writes = {}}).message(),
            "use of block 2, which is not allocated");
  EXPECT_EQ(builder.recompute(2, Nanoseconds(1)).message(), "recomputation of block 2, which is not allocated");
  EXPECT_EQ(builder.take().events.size(), 1U) << "what was refused left nothing";
}

}  // namespace
}  // namespace tessera
