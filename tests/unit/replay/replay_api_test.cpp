#include "tessera/replay.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "trace_text.hpp"

namespace tessera {
namespace {

TEST(ReplayApi, RunsATraceFromAFileRepeatedly) {
  const std::string path = ::testing::TempDir() + "replay_api_test.jsonl";
  std::ofstream(path) << alloc_line(1, 1_MiB) << op_line(500, "w", 1);
  tessera_replay* replay = nullptr;
  ASSERT_EQ(tessera_replay_create(&replay), TESSERA_OK);
  ASSERT_EQ(tessera_replay_set(replay, "iterations", "4"), TESSERA_OK);
  for (const char* const time : {"mapping-time", "frame-time"}) {
    ASSERT_EQ(tessera_replay_set(replay, time, "0"), TESSERA_OK);
  }
  const char* json = nullptr;
  ASSERT_EQ(tessera_replay_run(replay, path.c_str(), &json), TESSERA_OK) << tessera_replay_last_error();
  const std::string first = json;
  EXPECT_EQ(nlohmann::json::parse(first).at("makespan_ns"), 2000);
  ASSERT_EQ(tessera_replay_run(replay, path.c_str(), &json), TESSERA_OK);
  EXPECT_EQ(first, json);
  tessera_replay_destroy(replay);
  std::filesystem::remove(path);
}

TEST(ReplayApi, SharesADeviceAmongSeveralTraces) {
  const std::string path = ::testing::TempDir() + "replay_api_test_shared.jsonl";
  std::ofstream(path) << alloc_line(1, 1_MiB) << op_line(500, "w", 1);
  tessera_replay* replay = nullptr;
  ASSERT_EQ(tessera_replay_create(&replay), TESSERA_OK);
  for (const char* const time : {"mapping-time", "frame-time"}) {
    ASSERT_EQ(tessera_replay_set(replay, time, "0"), TESSERA_OK);
  }
  const char* const paths[] = {path.c_str(), path.c_str(), nullptr};
  const char* json = nullptr;
  ASSERT_EQ(tessera_replay_run_shared(replay, paths, 2, &json), TESSERA_OK) << tessera_replay_last_error();
  EXPECT_EQ(nlohmann::json::parse(json).at("ways").at(0).at("ns"), 1000);
  EXPECT_EQ(tessera_replay_run_shared(replay, paths, 1, &json), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_replay_run_shared(replay, paths, 3, &json), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_replay_run_shared(replay, nullptr, 2, &json), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_replay_run_shared(replay, paths, 2, nullptr), TESSERA_INVALID_ARGUMENT);
  tessera_replay_destroy(replay);
  std::filesystem::remove(path);
}

TEST(ReplayApi, FailuresHaveACodeAndASentence) {
  tessera_replay* replay = nullptr;
  EXPECT_EQ(tessera_replay_create(nullptr), TESSERA_INVALID_ARGUMENT);
  ASSERT_EQ(tessera_replay_create(&replay), TESSERA_OK);
  EXPECT_EQ(tessera_replay_set(replay, "colour", "red"), TESSERA_NOT_FOUND);
  EXPECT_EQ(tessera_replay_set(replay, "seed", nullptr), TESSERA_INVALID_ARGUMENT);
  const char* json = nullptr;
  EXPECT_EQ(tessera_replay_run(replay, "no/such/trace", &json), TESSERA_IO);
  EXPECT_STREQ(tessera_replay_last_error(), "no/such/trace: No such file or directory");
  const std::string path = ::testing::TempDir() + "replay_api_test_empty.jsonl";
  std::ofstream(path) << alloc_line(1, 1_MiB);
  EXPECT_EQ(tessera_replay_run(replay, path.c_str(), &json), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_replay_last_error(), path + ": the trace has no operations: nothing to replay");
  std::filesystem::remove(path);
  tessera_replay_destroy(replay);
  tessera_replay_destroy(nullptr);
}

}  // namespace
}  // namespace tessera
