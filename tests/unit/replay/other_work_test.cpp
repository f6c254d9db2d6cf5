// Operations that use no block, between those that do: they take time in which copies can be made.
#include <gtest/gtest.h>

#include "published_replay.hpp"

namespace tessera::test {
namespace {

// A block that is needed once in each iteration, another one that lives in between, and other work around that one.
// The other work has other names in each iteration where `varies`.
Trace around(std::uint64_t passes, std::uint64_t other_ns, bool varies) {
  TraceText write;
  const std::uint64_t kept = write.alloc(2 * kBlock);
  write.op(kMs, {}, {kept});
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    write.iteration();
    write.op(kMs, {kept}, {kept});
    write.op(other_ns, {});
    const std::uint64_t own = write.alloc(2 * kBlock);
    for (int i = 0; i < 5; ++i) write.op(kMs, {}, {own});
    write.free(own);
    // One more or fewer: the operations that use blocks keep their names.
    write.op(other_ns / 2, {});
    write.op(varies && pass % 3 == 1 ? 1 : other_ns / 2, {});
  }
  return write.done();
}

Nanoseconds last_step(const Trace& trace, std::string_view policy) {
  const ReplayResult result = played(trace, machine_for(policy, 3 * kBlock, kMs));
  return result.iterations.empty() ? Nanoseconds() : result.iterations[result.iterations.size() - 2];
}

TEST(OtherWork, IsTimeForCopies) {
  const Trace trace = around(30, 3 * kMs, false);
  const Nanoseconds best = last_step(trace, "capuchin");
  EXPECT_LT(best, last_step(trace, "recency"));
  EXPECT_LE(last_step(trace, "auto").value(), best.value() + best.value() / 50);
}

TEST(OtherWork, ThatVariesDoesNotEndTheIteration) {
  const Trace trace = around(31, 3 * kMs, true);
  const Nanoseconds best = last_step(trace, "capuchin");
  EXPECT_LE(last_step(trace, "auto").value(), best.value() + best.value() / 50);
}

}  // namespace
}  // namespace tessera::test
