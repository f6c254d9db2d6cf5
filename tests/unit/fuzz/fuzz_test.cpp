#include "lab/fuzz/fuzz.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/fuzz/fuzz_program.hpp"

namespace tessera {
namespace {

using Kept = std::vector<std::uint32_t>;

TEST(Fuzz, ListsOfOperationsAreRead) {
  EXPECT_EQ(parse_kept("", 3).take(), (Kept{0, 1, 2}));
  EXPECT_EQ(parse_kept("0-2,5", 6).take(), (Kept{0, 1, 2, 5}));
  for (const char* const wrong : {"6", "2-1", "a", "1,1", "3,2", "1-", "-"}) {
    EXPECT_EQ(parse_kept(wrong, 6).status().code(), Code::kInvalidArgument) << wrong;
  }
}

TEST(Fuzz, IsDeterministicForASeed) {
  const Kept all = parse_kept("", 120).take();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const FuzzResult first = fuzz(seed, 120, all).take();
    const FuzzResult second = fuzz(seed, 120, all).take();
    EXPECT_EQ(first.digest, second.digest) << seed;
    EXPECT_FALSE(first.failure) << *first.failure;
  }
}

TEST(Fuzz, SeedsMoveBlocksAndInjectFaults) {
  FuzzResult sum;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const FuzzResult result = fuzz(seed, 150, parse_kept("", 150).take()).take();
    sum.faults += result.faults;
    sum.errors += result.errors;
    sum.evictions += result.evictions;
    sum.sinks += result.sinks;
    sum.recomputes += result.recomputes;
    sum.unchanged += result.unchanged;
    sum.policies += result.policies;
    sum.alone += result.alone;
    sum.faulted += result.faulted;
  }
  EXPECT_GT(sum.faults, 20U);
  EXPECT_GT(sum.errors, 0U);
  EXPECT_GT(sum.evictions, 100U);
  EXPECT_GT(sum.sinks, 10U);
  EXPECT_GT(sum.recomputes, 0U);
  EXPECT_GT(sum.unchanged, 0U);
  EXPECT_GT(sum.policies, 20U);
  EXPECT_GT(sum.alone, sum.faulted);
  EXPECT_GT(sum.faulted, 0U);
}

// By programs of that kind.
std::uint64_t exchanges_where(bool FuzzSetup::*kind, int programs) {
  std::uint64_t exchanges = 0;
  for (std::uint64_t seed = 1; programs > 0; seed += 3) {
    const FuzzSetup setup = make_fuzz(seed, 150).setup;
    EXPECT_TRUE(setup.host_frames) << seed;
    if (!(setup.*kind)) continue;
    const FuzzResult result = fuzz(seed, 150, parse_kept("", 150).take()).take();
    EXPECT_FALSE(result.failure) << seed << ": " << *result.failure;
    exchanges += result.exchanges;
    --programs;
  }
  return exchanges;
}

TEST(Fuzz, PartsOfPartialBlocksAreExchanged) { EXPECT_GT(exchanges_where(&FuzzSetup::parts, 8), 0U); }

TEST(Fuzz, PartsOfPartialSegmentsAreExchanged) { EXPECT_GT(exchanges_where(&FuzzSetup::segments, 8), 0U); }

// Each has failed once; the commit messages have the reasons.
TEST(Fuzz, FormerFailuresPass) {
  struct Failed {
    std::uint64_t seed;
    const char* kept;
  };
  for (const Failed& failed : {Failed{303428, "1,8-9,11,17-19,34,39"}, Failed{2, "0-1,4,75,96,104,130-131,147"},
                               Failed{75, "0,9,12,79,81,83-84,89,131"}, Failed{133, "25,34,44-45,112,134,142,148-149"},
                               Failed{180, "2,4,18,30-31,53,72,76,80,84,100"},
                               Failed{181, "6,10,35,78,83,86,104,120-121"}, Failed{986, "84,89-90,133-134,145"},
                               Failed{2739, "28,97,147"}, Failed{3976, "12,36,39,46,48,56,75,78-79,104"}}) {
    const FuzzResult result = fuzz(failed.seed, 150, parse_kept(failed.kept, 150).take()).take();
    EXPECT_FALSE(result.failure) << failed.seed << ": " << *result.failure;
  }
}

TEST(Fuzz, AFailureIsReportedWithItsOperations) {
  FuzzResult result;
  result.failure = "wrong data";
  result.played = 2;
  const auto json = nlohmann::json::parse(fuzz_json(3, 10, {4, 6}, result));
  EXPECT_FALSE(json.at("passed").get<bool>());
  EXPECT_EQ(json.at("list").size(), 2U);
  EXPECT_EQ(json.at("list")[1].get<std::string>().find("6: "), 0U);
}

}  // namespace
}  // namespace tessera
