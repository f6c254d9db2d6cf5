#include "policy_bench_costs.hpp"

#include <gmock/gmock.h>

#include "policy_bench_rows.hpp"

namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Rows take 1, 2, 3 … tenths of a second.
PolicyBench with_times(PolicyBench bench) {
  milliseconds time{};
  for (PolicyBenchRow& row : bench.rows) row.processor_time = time += milliseconds(100);
  return bench;
}

TEST(PolicyBenchCosts, TheFileHasALineForEachRowAlsoThoseThatFailed) {
  EXPECT_EQ(policy_bench_costs_csv(with_times(policy_bench_of({"a,b"}, {"lru", "auto"}, {90, 50}, {110, 0, 120, 130}))),
            "trace,policy,budget,processor_s\n"
            "\"a,b\",lru,90,0.10\n"
            "\"a,b\",lru,50,0.20\n"
            "\"a,b\",auto,90,0.30\n"
            "\"a,b\",auto,50,0.40\n");
}

TEST(PolicyBenchCosts, WhatWasNotReplayedYetHasNoTime) {
  EXPECT_EQ(policy_bench_costs_csv(policy_bench_of({"t"}, {"lru"}, {90}, {0})),
            "trace,policy,budget,processor_s\nt,lru,90,\n");
}

TEST(PolicyBenchCosts, WhatAutoAddsIsTheDifferenceToRecencyInCellsThatBothFinished) {
  const PolicyBench bench = with_times(policy_bench_of({"s", "t"}, {"recency", "lru", "auto"}, {90, 50},
                                                       {110, 110, 110, 110, 110, 0, 110, 110, 110, 110, 110, 110}));
  const std::string table = policy_bench_costs_table(bench);
  EXPECT_THAT(table, HasSubstr("s                               90%     500 ms     100 ms        0.4 s\n"));
  EXPECT_THAT(table, testing::Not(HasSubstr("s                               50%")));
  EXPECT_THAT(table, HasSubstr("t                               50%     1.20 s     800 ms        0.4 s\n"));
}

TEST(PolicyBenchCosts, TheTableEndsWithTheMeanAndTheWorstCell) {
  PolicyBench bench = with_times(policy_bench_of({"t"}, {"auto", "recency"}, {90, 50}, {110, 110, 110, 110}));
  bench.rows[1].processor_time = milliseconds(5400);  // auto at 50 %; 5 s more than recency
  bench.rows[0].processor_time = milliseconds(1300);
  EXPECT_THAT(policy_bench_costs_table(bench),
              HasSubstr("beside the program `auto` takes 3.0 s in the mean, 5.0 s at most\n"));
}

TEST(PolicyBenchCosts, WithoutBothPoliciesThereIsNothingToCompare) {
  EXPECT_EQ(policy_bench_costs_table(policy_bench_of({"t"}, {"auto", "lru"}, {50}, {110, 110})), "");
  EXPECT_EQ(policy_bench_costs_table(policy_bench_of({"t"}, {"auto", "recency"}, {50}, {110, 0})), "");
}

}  // namespace
