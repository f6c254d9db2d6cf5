#include "policy_bench_text.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "policy_bench_rows.hpp"

namespace {

using ::testing::HasSubstr;

PolicyBench two_policies() { return policy_bench_of({"t"}, {"a", "b"}, {90, 50}, {110, 200, 120, 0}); }

TEST(PolicyBenchText, JsonHasEveryRowAndWhatFollowsFromThem) {
  const auto json = nlohmann::json::parse(policy_bench_json(two_policies()));
  EXPECT_EQ(json.at("rows").size(), 4U);
  EXPECT_EQ(json.at("rows")[1].at("ratio"), 2.0);
  EXPECT_EQ(json.at("rows")[1].at("bytes_file_written"), 7);
  EXPECT_EQ(json.at("rows")[3].at("failure"), "too little");
  EXPECT_FALSE(json.at("rows")[3].contains("step_ns"));
  EXPECT_EQ(json.at("cells")[0].at("best"), nlohmann::json({"a"}));
  EXPECT_EQ(json.at("ranking")[0].at("policy"), "a");
  EXPECT_EQ(json.at("traces")[0].at("compute_ns"), 100);
}

TEST(PolicyBenchText, JsonHoldsNamesOfAnyBytesAndLeaguesWithoutRows) {
  PolicyBench bench = policy_bench_of({"a \xff \"trace\""}, {"a"}, {90}, {0});
  EXPECT_TRUE(nlohmann::json::accept(policy_bench_json(bench)));
  EXPECT_TRUE(nlohmann::json::accept(policy_bench_json(PolicyBench())));
}

TEST(PolicyBenchText, CsvHasALineForEachRow) {
  PolicyBench bench = two_policies();
  bench.rows[3].failure = "said \"no\", twice";
  EXPECT_EQ(policy_bench_csv(bench),
            "trace,policy,budget,device_memory,step_ns,lower_bound_ns,ratio,bytes_h2d,bytes_d2h,"
            "bytes_file_read,bytes_file_written,bytes_peer_in,bytes_peer_out,failure\n"
            "t,a,90,900,110,100,1.1000,0,0,0,7,0,0,\n"
            "t,a,50,500,200,100,2.0000,0,0,0,7,0,0,\n"
            "t,b,90,900,120,100,1.2000,0,0,0,7,0,0,\n"
            "t,b,50,500,,,,,,,,,,\"said \"\"no\"\", twice\"\n");
}

TEST(PolicyBenchText, APolicyThatFinishedNoCellHasNoRatios) {
  const PolicyBench bench = policy_bench_of({"t"}, {"a", "b"}, {50}, {0, 120});
  EXPECT_THAT(policy_bench_table(bench),
              HasSubstr("b                    1/1       1       1.200        1.000        1.000\n"
                        "a                    0/1       0           -            -            -\n"));
  const auto ranking = nlohmann::json::parse(policy_bench_json(bench)).at("ranking");
  EXPECT_TRUE(ranking[0].contains("mean_behind"));
  EXPECT_FALSE(ranking[1].contains("mean_behind"));
}

TEST(PolicyBenchText, TheTableNamesTheMachine) {
  PolicyBench bench = two_policies();
  EXPECT_THAT(policy_bench_table(bench), testing::Not(HasSubstr("machine")));
  bench.settings = {{"h2d", "50e9"}, {"mapping-time", "45000"}};
  EXPECT_THAT(policy_bench_table(bench), HasSubstr("\non a machine with h2d 50e9, mapping-time 45000\n"));
}

TEST(PolicyBenchText, TheTableNamesTheFirstPoliciesOrWhyThereIsNone) {
  EXPECT_THAT(policy_bench_table(two_policies()), HasSubstr("1.100  a\n"));
  const PolicyBench all = policy_bench_of({"t"}, {"a", "b", "c", "d", "e"}, {50}, {9, 9, 9, 9, 9});
  EXPECT_THAT(policy_bench_table(all), HasSubstr("a, b, c and 2 more\n"));
  EXPECT_THAT(policy_bench_table(policy_bench_of({"t"}, {"a"}, {50}, {0})), HasSubstr("too little\n"));
}

}  // namespace
