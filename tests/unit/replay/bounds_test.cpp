#include "lab/replay/bounds.hpp"

#include <gtest/gtest.h>

#include "trace_text.hpp"

namespace tessera {
namespace {

// Three blocks of 10 bytes, written in sequence and then read in the same order.
Trace scan() {
  std::string text;
  for (int id = 1; id <= 3; ++id) {
    text += "{\"t\":\"alloc\",\"id\":" + std::to_string(id) + ",\"bytes\":10}\n";
  }
  for (const char* key : {"w", "r"}) {
    for (int id = 1; id <= 3; ++id) {
      text += std::string("{\"t\":\"op\",\"ns\":7,\"") + key + "\":[" + std::to_string(id) + "]}\n";
    }
  }
  return trace_of(text);
}

TEST(Bounds, AreComputedFromTheTrace) {
  const TraceBounds bounds = bounds_of(scan());
  EXPECT_EQ(bounds.liveness_peak, Bytes(30));
  EXPECT_EQ(bounds.largest_step, Bytes(10));
  EXPECT_EQ(bounds.compute, Nanoseconds(42));
}

TEST(Bounds, TheBusiestStreamIsTheComputeTime) {
  const Trace trace = trace_of(R"({"t":"alloc","id":1,"bytes":4}
{"t":"op","ns":10,"stream":1,"r":[1]}
{"t":"op","ns":15,"stream":2,"r":[1]}
{"t":"op","ns":10,"stream":1,"r":[1]}
)");
  EXPECT_EQ(bounds_of(trace).compute, Nanoseconds(20));
}

TEST(Bounds, AFittingTraceNeedsNoMoves) {
  const ForcedMoves moves = forced_moves(scan(), 0, Bytes(30));
  EXPECT_EQ(moves.in, Bytes());
  EXPECT_EQ(moves.out, Bytes());
}

TEST(Bounds, AnOversubscribedTraceForcesPartialMoves) {
  // Writing 3 leaves 1 and 2 needed: 10 bytes have no room, ideally those of 2. They are fetched for its read.
  EXPECT_EQ(forced_moves(scan(), 0, Bytes(20)).in, Bytes(10));
  EXPECT_EQ(forced_moves(scan(), 0, Bytes(20)).out, Bytes(10));
  EXPECT_EQ(forced_moves(scan(), 0, Bytes(25)).in, Bytes(5));
  // With room for a single block each read fetches its block, except the one that stayed.
  EXPECT_EQ(forced_moves(scan(), 0, Bytes(10)).out, Bytes(20));
}

TEST(Bounds, RecomputableBlocksNeedNoMoves) {
  const std::string text = R"({"t":"alloc","id":1,"bytes":10}
{"t":"alloc","id":2,"bytes":10}
{"t":"op","w":[1]}
%{"t":"op","w":[2]}
{"t":"op","r":[1]}
)";
  const auto with = [&](const std::string& line) {
    std::string lines = text;
    return trace_of(lines.replace(lines.find('%'), 1, line));
  };
  EXPECT_EQ(forced_moves(with(""), 0, Bytes(10)).in, Bytes(10));
  EXPECT_EQ(forced_moves(with("{\"t\":\"recompute\",\"id\":1,\"recompute_ns\":0}\n"), 0, Bytes(10)).in, Bytes(10));
  EXPECT_EQ(forced_moves(with("{\"t\":\"recompute\",\"id\":1,\"recompute_ns\":5}\n"), 0, Bytes(10)).in, Bytes());
}

TEST(Bounds, OverwrittenOrFreedContentsNeedNoFetch) {
  const Trace trace = trace_of(R"({"t":"alloc","id":1,"bytes":10}
{"t":"alloc","id":2,"bytes":10}
{"t":"op","w":[1]}
{"t":"op","w":[2]}
{"t":"op","w":[1]}
{"t":"op","r":[1]}
{"t":"free","id":2}
)");
  EXPECT_EQ(forced_moves(trace, 0, Bytes(10)).in, Bytes());
}

TEST(Bounds, ALaterPartCountsOnlyItsOwnMoves) {
  const Trace trace = trace_of(alloc_line(1, Bytes(10)) + alloc_line(2, Bytes(10)) + op_line(5, "w", 1) +
                               op_line(5, "w", 2) + op_line(7, "r", 1) + op_line(7, "r", 2));
  EXPECT_EQ(forced_in_from(trace, 0, Bytes(10), 0), Bytes(20));
  EXPECT_EQ(forced_in_from(trace, 0, Bytes(10), 3), Bytes(10));
  EXPECT_EQ(compute_from(trace, 3), Nanoseconds(7));
}

}  // namespace
}  // namespace tessera
