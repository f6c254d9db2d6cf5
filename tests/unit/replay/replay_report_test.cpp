#include "lab/replay/replay_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

TEST(ReplayReport, HasEveryKeyOfTheFormat) {
  ReplayResult result;
  result.options.policy = "lru";
  result.bounds.compute = Nanoseconds(70);
  result.makespan = Nanoseconds(100);
  result.iterations = {Nanoseconds(60), Nanoseconds(40)};
  result.last_pass.time = Nanoseconds(40);
  result.last_pass.in = Bytes(3);
  result.last_pass.stalls.by_cause[static_cast<std::size_t>(StallCause::kCopyOut)] = Nanoseconds(20);
  result.last_pass.stalls.recompute = Nanoseconds(7);
  result.stats.bytes_in = 5;
  Trace trace;
  trace.name = "a \xff trace";
  const auto json = nlohmann::json::parse(replay_json(trace, result));
  for (const char* key : {"policy", "compute_ns", "makespan_ns", "stall_ns", "lower_bound_ns", "peak_device_bytes",
                          "liveness_peak_bytes", "largest_step_bytes", "bytes_h2d", "bytes_d2h", "bytes_file_read",
                          "bytes_file_written", "evictions", "fetches", "late_fetches"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json.at("stall_ns"), 30);
  EXPECT_EQ(json.at("bytes_h2d"), 5);
  EXPECT_EQ(json.at("last_pass").at("ns"), 40);
  EXPECT_EQ(json.at("last_pass").at("bytes_h2d"), 3);
  EXPECT_EQ(json.at("last_pass").at("stall_ns_by_cause"), nlohmann::json({{"copy_out", 20}, {"recompute", 7}}));
  EXPECT_EQ(json.at("iteration_ns"), nlohmann::json({60, 40}));
}

TEST(ReplayReport, NamesThePolicyWithTheSeedItDrewFrom) {
  const auto policy_of = [](const std::string& name) {
    ReplayResult result;
    result.options.policy = name;
    result.options.seed = 3;
    return nlohmann::json::parse(replay_json({}, result)).at("policy");
  };
  EXPECT_EQ(policy_of("swapadvisor"), "swapadvisor:3");
  EXPECT_EQ(policy_of("swapadvisor:7"), "swapadvisor:7");
  EXPECT_EQ(policy_of("lru"), "lru");
}

TEST(ReplayReport, PoliciesHaveNameSourceAndSummary) {
  const auto list = nlohmann::json::parse(policies_json());
  ASSERT_GE(list.size(), 2U);
  for (const auto& policy : list) {
    EXPECT_FALSE(policy.at("name").get<std::string>().empty());
    EXPECT_FALSE(policy.at("source").get<std::string>().empty());
    EXPECT_FALSE(policy.at("summary").get<std::string>().empty());
  }
}

}  // namespace
}  // namespace tessera
