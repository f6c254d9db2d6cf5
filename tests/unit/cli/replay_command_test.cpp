#include "replay_command.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tessera/replay.h"

namespace {

class ReplayCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    trace_ = ::testing::TempDir() + "replay_command_test.jsonl";
    std::ofstream(trace_) << R"({"t":"alloc","id":1,"bytes":2097152})"
                          << "\n"
                          << R"({"t":"op","name":"a","ns":1000,"w":[1]})"
                          << "\n";
  }
  void TearDown() override { std::filesystem::remove(trace_); }

  static int run(ReplayCommandOptions options, std::string& output) {
    ::testing::internal::CaptureStdout();
    const int code = replay_command(options);
    output = ::testing::internal::GetCapturedStdout();
    return code;
  }
  static void set(ReplayCommandOptions& options, const std::string& name, const char* value) {
    for (auto& setting : options.settings) {
      if (name == setting.name) setting.value = value;
    }
  }

  std::string trace_;
};

TEST_F(ReplayCommandTest, PrintsOneObjectOrATable) {
  ReplayCommandOptions options;
  options.traces = {trace_};
  options.json = true;
  for (const char* const time : {"mapping-time", "frame-time"}) set(options, time, "0");
  std::string output;
  ASSERT_EQ(run(options, output), 0);
  EXPECT_EQ(nlohmann::json::parse(output).at("makespan_ns"), 1000);
  options.json = false;
  ASSERT_EQ(run(options, output), 0);
  EXPECT_NE(output.find("makespan"), std::string::npos) << output;
  EXPECT_EQ(output, replay_table(R"({"policy":"auto","compute_ns":1000,"lower_bound_ns":1000,
      "makespan_ns":1000,"stall_ns":0,"last_pass":{"ns":1000,"stall_ns_by_cause":{}},"peak_device_bytes":2097152,
      "device_memory":33554432,"liveness_peak_bytes":2097152,"largest_step_bytes":2097152,"bytes_h2d":0,"bytes_d2h":0,
      "peer_memory":0,"bytes_file_read":0,"bytes_file_written":0,"evictions":0,"fetches":0,"late_fetches":0})"));
}

TEST(ReplayTable, TheLastPassListsItsWaitsLongestFirst) {
  const std::string table = replay_table(R"({"policy":"auto","compute_ns":1000,"lower_bound_ns":1000,
      "makespan_ns":1000,"stall_ns":0,"last_pass":{"ns":7500000,"stall_ns_by_cause":{"copy_in":500000,
      "copy_out":1000000}},"peak_device_bytes":0,"device_memory":0,"liveness_peak_bytes":0,
      "largest_step_bytes":0,"bytes_h2d":0,"bytes_d2h":0,
      "peer_memory":0,"bytes_file_read":0,"bytes_file_written":0,"evictions":0,"fetches":0,"late_fetches":0})");
  EXPECT_NE(table.find("7.50 ms, stalled 1.50 ms: copy_out 1.00 ms, copy_in 500 us\n"), std::string::npos) << table;
}

TEST_F(ReplayCommandTest, MemoryThatIsAutoIsTheDefault) {
  ReplayCommandOptions options;
  options.traces = {trace_};
  options.json = true;
  std::string output, with_auto;
  ASSERT_EQ(run(options, output), 0);
  for (const char* const name : {"device-memory", "host-memory", "file-memory", "policy"}) set(options, name, "auto");
  ASSERT_EQ(run(options, with_auto), 0);
  EXPECT_EQ(with_auto, output);
}

TEST_F(ReplayCommandTest, SeveralTracesShareADevice) {
  ReplayCommandOptions options;
  options.traces = {trace_, trace_};
  std::string output;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(options, output), 2) << "only with --share";
  options.share = true;
  options.traces.pop_back();
  EXPECT_EQ(run(options, output), 2) << "one has none to share with";
  ::testing::internal::GetCapturedStderr();
  options.traces = {trace_, trace_};
  options.json = true;
  ASSERT_EQ(run(options, output), 0);
  const auto json = nlohmann::json::parse(output);
  EXPECT_EQ(json.at("ways").size(), 4U);
  options.json = false;
  std::string table;
  ASSERT_EQ(run(options, table), 0);
  EXPECT_EQ(table, shared_replay_table(output));
}

TEST(SharedReplayTable, HasALineForEachWayAndSaysWhyAProgramFailed) {
  const std::string table = shared_replay_table(R"({"policy":"lru","device_memory":1073741824,
      "programs":[{"trace":"a","alone_ns":1000000000,"liveness_peak_bytes":1048576},
                  {"trace":"b","alone_ns":2000000000,"liveness_peak_bytes":2097152}],
      "ways":[{"way":"one after the other","ns":3000000000,"throughput":1.0,
               "programs":[{"ended_ns":1000000000},{"ended_ns":3000000000}]},
              {"way":"share off","ns":null,"throughput":null,
               "programs":[{"failure":"event 1: too large"},{"ended_ns":4000000000}]}]})");
  EXPECT_NE(table.find("one after the other        1.00 s       3.00 s       3.00 s         1.00\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("share off                  failed       4.00 s            -            -\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("share off, a: event 1: too large\n"), std::string::npos) << table;
}

TEST_F(ReplayCommandTest, EverySettingIsAnOptionOfTheLibrary) {
  tessera_replay* replay = nullptr;
  ASSERT_EQ(tessera_replay_create(&replay), TESSERA_OK);
  for (const auto& setting : ReplayCommandOptions().settings) {
    const tessera_result result = tessera_replay_set(replay, setting.name, "nonsense");
    const bool takes_any = std::string(setting.name) == "timeline";
    EXPECT_EQ(result, takes_any ? TESSERA_OK : TESSERA_INVALID_ARGUMENT) << setting.name;
  }
  tessera_replay_destroy(replay);
}

TEST_F(ReplayCommandTest, ATimelineIsWrittenBesideTheSameResult) {
  ReplayCommandOptions options;
  options.traces = {trace_};
  options.json = true;
  std::string output, drawn;
  ASSERT_EQ(run(options, output), 0);
  const std::string path = ::testing::TempDir() + "replay_command_test.timeline.json";
  set(options, "timeline", path.c_str());
  ASSERT_EQ(run(options, drawn), 0);
  EXPECT_EQ(drawn, output);
  std::ifstream file(path);
  EXPECT_TRUE(nlohmann::json::parse(file).contains("traceEvents"));
  set(options, "timeline", "/no/such/folder/t.json");
  EXPECT_EQ(run(options, output), 1);
}

TEST_F(ReplayCommandTest, WrongUseAndWrongTracesHaveTheirOwnCodes) {
  ReplayCommandOptions options;
  std::string output;
  EXPECT_EQ(run(options, output), 2) << "no trace";
  options.traces = {trace_ + ".missing"};
  EXPECT_EQ(run(options, output), 1);
  options.traces = {trace_};
  set(options, "policy", "wishful");
  EXPECT_EQ(run(options, output), 2);
}

TEST_F(ReplayCommandTest, PoliciesAreListedWithoutATrace) {
  ReplayCommandOptions options;
  options.list_policies = true;
  std::string output;
  ASSERT_EQ(run(options, output), 0);
  EXPECT_NE(output.find("recency"), std::string::npos);
  EXPECT_NE(output.find("lru"), std::string::npos);
}

}  // namespace
