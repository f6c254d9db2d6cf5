#include "policy_bench_row.hpp"

#include <gtest/gtest.h>

namespace {

constexpr const char* kReplay = R"({"liveness_peak_bytes":900,"largest_step_bytes":80,"ops":70,
  "last_pass":{"iterations":2,"ops":40,"ns":300,"compute_ns":180,"lower_bound_ns":200,"bytes_h2d":10,
  "bytes_d2h":12,"bytes_file_read":14,"bytes_file_written":16,
  "bytes_peer_in":18,"bytes_peer_out":20}})";

TEST(PolicyBenchRow, FiguresAreOfOneIterationOfTheLastPass) {
  PolicyBenchRow row;
  read_row_figures({kReplay, ""}, row);
  EXPECT_TRUE(row.well());
  EXPECT_EQ(row.step_ns, 150U);
  EXPECT_EQ(row.bytes_h2d, 5U);
  EXPECT_EQ(row.bytes_file_written, 8U);
  EXPECT_EQ(row.bytes_peer_in, 9U);
  EXPECT_EQ(row.bytes_peer_out, 10U);
  EXPECT_DOUBLE_EQ(row.ratio(), 1.5);
}

TEST(PolicyBenchRow, AStepIsTheMeanOfTheLastTwoPasses) {
  PolicyBenchRow row;
  read_row_figures({R"({"iteration_ns":[500,700,110,130,140,160],"last_pass":{"iterations":2,"ns":300,"compute_ns":180,
    "lower_bound_ns":200,"bytes_h2d":10,"bytes_d2h":12,"bytes_file_read":14,"bytes_file_written":16,
    "bytes_peer_in":18,"bytes_peer_out":20}})",
                    ""},
                   row);
  EXPECT_EQ(row.step_ns, 135U);
  EXPECT_EQ(row.bytes_h2d, 5U);
}

TEST(PolicyBenchRow, ATraceIsMeasuredWithAmpleMemory) {
  PolicyBenchTrace trace;
  read_trace_figures({kReplay, ""}, trace);
  EXPECT_EQ(trace.liveness_peak, 900U);
  EXPECT_EQ(trace.largest_step, 80U);
  EXPECT_EQ(trace.step_ns, 90U);
  EXPECT_EQ(trace.ops, 20U);
}

TEST(PolicyBenchRow, WhatCallsTookIsASettingUnlessItWasGiven) {
  PolicyBench bench;
  bench.settings = {{"copy-turn", "7"}};
  read_call_times({R"({"failure":"no room"})", ""}, bench);
  EXPECT_EQ(bench.settings.size(), 1U);
  for (int row = 0; row < 2; ++row) read_call_times({R"({"mapping_time":45,"copy_turn":7,"last_pass":{}})", ""}, bench);
  const std::vector<std::pair<std::string, std::string>> expected{{"copy-turn", "7"}, {"mapping-time", "45"}};
  EXPECT_EQ(bench.settings, expected);
}

TEST(PolicyBenchRow, AFailureHasItsReasonInOneLine) {
  PolicyBenchRow row;
  read_row_figures({R"({"failure":"no room\nand advice"})", ""}, row);
  EXPECT_EQ(row.failure, "no room");
  read_row_figures({"", "it crashed"}, row);
  EXPECT_EQ(row.failure, "it crashed");
  read_row_figures({"half an ans", ""}, row);
  EXPECT_EQ(row.failure, "no answer");
  read_row_figures({"", ""}, row);
  EXPECT_EQ(row.failure, "no answer");
}

TEST(PolicyBenchRow, WithoutMarksAPassIsOneIteration) {
  PolicyBenchRow row;
  read_row_figures({R"({"last_pass":{"iterations":0,"ns":300,"compute_ns":0,"lower_bound_ns":0,
    "bytes_h2d":0,"bytes_d2h":0,"bytes_file_read":0,"bytes_file_written":0,
    "bytes_peer_in":0,"bytes_peer_out":0}})",
                    ""},
                   row);
  EXPECT_EQ(row.step_ns, 300U);
  EXPECT_DOUBLE_EQ(row.ratio(), 300);  // a bound of 0 counts as a nanosecond
}

TEST(PolicyBenchRow, RowsAreFoundByTheirNumbers) {
  PolicyBench bench;
  bench.policies = {"a", "b"};
  bench.budgets = {90, 50, 30};
  bench.rows.resize(12);
  bench.rows[1 * 6 + 1 * 3 + 2].step_ns = 5;
  EXPECT_EQ(bench.row(1, 1, 2).step_ns, 5U);
}

}  // namespace
