// --seed reaches SwapAdvisor's random numbers.
#include <gtest/gtest.h>

#include <set>

#include "lab/replay/replay_report.hpp"
#include "published_replay.hpp"

namespace tessera::test {
namespace {

// Blocks of five sizes, made in sequence and read in reverse order.
Trace of_mixed_sizes() {
  TraceText write;
  write.iteration();
  TraceText::Ids made;
  for (std::uint64_t i = 0; i < 48; ++i) {
    made.push_back(write.alloc(kBlock * (1 + i * 7 % 5), "activation"));
    write.op(2 * kMs, {}, {made.back()});
  }
  for (; !made.empty(); made.pop_back()) {
    write.op(3 * kMs, {made.back()});
    write.free(made.back());
  }
  return write.done();
}

TEST(PublishedSeed, TheSameSeedPrintsTheSameAndOthersBreedOthers) {
  const Trace trace = of_mixed_sizes();
  const auto play = [&](std::uint64_t seed) {
    ReplayOptions options = machine_for("swapadvisor", 2200_MiB, 4.2 * double{kMs});
    options.iterations = 6;
    options.seed = seed;
    return played(trace, options);
  };
  EXPECT_EQ(replay_json(trace, play(5)), replay_json(trace, play(5)));
  std::set<std::uint64_t> outcomes;
  for (std::uint64_t seed = 0; seed < 5; ++seed) outcomes.insert(play(seed).last_pass.time.value());
  EXPECT_GT(outcomes.size(), 1u) << "lots that change nothing are none";
}

}  // namespace
}  // namespace tessera::test
