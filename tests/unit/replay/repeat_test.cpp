#include "lab/replay/repeat.hpp"

#include <gtest/gtest.h>

#include "lab/replay/bounds.hpp"
#include "trace_text.hpp"

namespace tessera {
namespace {

// "a1 a2 o12 f2 m": allocations, operations with their operands, frees, marks.
std::string shape(const Trace& trace) {
  std::string text;
  for (const TraceEvent& event : trace.events) {
    if (!text.empty()) text += ' ';
    switch (event.kind) {
      case TraceEvent::Kind::kAlloc: text += 'a' + std::to_string(trace.blocks[event.index].id); break;
      case TraceEvent::Kind::kFree: text += 'f' + std::to_string(trace.blocks[event.index].id); break;
      case TraceEvent::Kind::kMark: text += 'm'; break;
      case TraceEvent::Kind::kRecompute: text += 'r' + std::to_string(trace.recomputes[event.index].block); break;
      case TraceEvent::Kind::kOp:
        text += 'o';
        for (const std::uint32_t block : trace.operands_of(trace.ops[event.index])) {
          text += std::to_string(trace.blocks[block].id);
        }
    }
  }
  return text;
}

constexpr const char* kTrace = R"({"t":"alloc","id":1,"bytes":4}
{"t":"alloc","id":2,"bytes":4}
{"t":"mark","kind":"iteration","n":1}
{"t":"alloc","id":3,"bytes":4}
{"t":"op","ns":10,"r":[1],"w":[3]}
{"t":"free","id":2}
{"t":"op","ns":10,"r":[3],"w":[1]}
{"t":"free","id":3}
{"t":"free","id":1}
)";

TEST(Repeat, OnceIsTheTraceItself) {
  EXPECT_EQ(shape(repeat_steps(trace_of(kTrace), 1).trace), "a1 a2 m a3 o13 f2 o31 f3 f1");
  EXPECT_EQ(repeat_steps(trace_of(kTrace), 1).last_pass, 2U);
}

TEST(Repeat, EachTimeFindsTheBlocksOfTheFirst) {
  const auto [trace, last_pass] = repeat_steps(trace_of(kTrace), 3);
  EXPECT_EQ(last_pass, 16U);
  EXPECT_EQ(shape(trace), "a1 a2 m a3 o13 f2 o31 f3 a2 m a3 o13 f2 o31 f3 a2 m a3 o13 f2 o31 f3 f1");
  EXPECT_EQ(bounds_of(trace).compute, Nanoseconds(60));
  EXPECT_EQ(bounds_of(trace).liveness_peak, Bytes(12));
}

TEST(Repeat, EventsBeforeTheFirstIterationAreNotRepeated) {
  const Trace trace = repeat_steps(trace_of(R"({"t":"alloc","id":1,"bytes":4}
{"t":"op","w":[1]}
{"t":"mark","kind":"iteration","n":1}
{"t":"op","r":[1]}
)"),
                                   2)
                          .trace;
  EXPECT_EQ(shape(trace), "a1 o1 m o1 m o1");
}

TEST(Repeat, RecomputableBlocksBelongToTheirRepetition) {
  const Trace trace = repeat_steps(trace_of(R"({"t":"alloc","id":1,"bytes":4}
{"t":"mark","kind":"iteration","n":1}
{"t":"alloc","id":2,"bytes":4}
{"t":"op","w":[2]}
{"t":"recompute","id":2,"recompute_ns":7}
{"t":"op","r":[1]}
{"t":"free","id":2}
)"),
                                   3)
                          .trace;
  EXPECT_EQ(shape(trace), "a1 m a2 o2 r1 o1 f2 m a2 o2 r2 o1 f2 m a2 o2 r3 o1 f2");
  EXPECT_EQ(bounds_of(trace).liveness_peak, Bytes(8));
}

TEST(Repeat, LeftoverBlocksAreFreedBeforeTheNextRepetition) {
  const Trace trace = repeat_steps(trace_of(R"({"t":"alloc","id":1,"bytes":4}
{"t":"op","r":[1]}
{"t":"alloc","id":2,"bytes":4}
{"t":"op","r":[2]}
)"),
                                   2)
                          .trace;
  EXPECT_EQ(shape(trace), "a1 o1 a2 o2 f2 o1 a2 o2");
}

}  // namespace
}  // namespace tessera
