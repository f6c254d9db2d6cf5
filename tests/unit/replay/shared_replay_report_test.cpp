#include "lab/replay/shared_replay_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "trace_text.hpp"

namespace tessera {
namespace {

TEST(SharedReplayReport, HasEveryProgramAndWay) {
  Trace traces[2];
  traces[0].name = "a\xff";  // no valid text
  traces[1].name = "b";
  SharedReplayResult result;
  result.options.weights = {100, 300};
  result.options.limits = {Bytes(), 1_GiB};
  result.options.time_slice = 500;
  result.alone.resize(2);
  result.alone[0].makespan = Nanoseconds(1000);
  result.alone[1].makespan = Nanoseconds(3000);
  SharedWay way{.name = "share off", .programs = {}, .time = Nanoseconds(5000), .throughput = 0.8};
  way.programs.resize(2);
  way.programs[0].ended = Nanoseconds(5000);
  way.programs[0].result.turns = 3;
  way.programs[0].result.waited = Nanoseconds(70);
  way.programs[0].result.stats.bytes_in = 11;
  way.programs[1].ended = Nanoseconds(4000);
  result.ways.push_back(way);
  way.programs[1].status = Status(Code::kOutOfMemory, "event 1: too large");
  result.ways.push_back(way);
  const auto json = nlohmann::json::parse(shared_replay_json(traces, result));
  EXPECT_EQ(json.at("time_slice_ms"), 500);
  EXPECT_EQ(json.at("programs").at(1).at("trace"), "b");
  EXPECT_EQ(json.at("programs").at(1).at("weight"), 300);
  EXPECT_EQ(json.at("programs").at(1).at("device_limit"), (1_GiB).value());
  EXPECT_EQ(json.at("programs").at(1).at("alone_ns"), 3000);
  const auto& first = json.at("ways").at(0);
  EXPECT_EQ(first.at("ns"), 5000);
  EXPECT_EQ(first.at("throughput"), 0.8);
  EXPECT_EQ(first.at("programs").at(0).at("ended_ratio"), 5.0);
  EXPECT_EQ(first.at("programs").at(0).at("turns"), 3);
  EXPECT_EQ(first.at("programs").at(0).at("waited_ns"), 70);
  EXPECT_EQ(first.at("programs").at(0).at("bytes_h2d"), 11);
  EXPECT_EQ(first.at("programs").at(1).at("ended_ratio"), 1.3333);
  const auto& second = json.at("ways").at(1);
  EXPECT_TRUE(second.at("ns").is_null());
  EXPECT_TRUE(second.at("throughput").is_null());
  EXPECT_EQ(second.at("programs").at(1).at("failure"), "event 1: too large");
}

}  // namespace
}  // namespace tessera
