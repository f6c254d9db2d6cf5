#include "observe/timeline.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace tessera {
namespace {

Event move(EventKind kind, std::uint64_t begin, std::uint64_t end, std::uint16_t device = 0) {
  return {kind, device, Nanoseconds(begin), Nanoseconds(end), Address(0x7000000), 32_MiB};
}

nlohmann::json drawn(const std::vector<Event>& events, std::uint64_t lost = 0) {
  return nlohmann::json::parse(timeline_json(events, lost));
}

TEST(Timeline, AnEmptyLogIsAValidTrace) {
  const auto trace = drawn({});
  EXPECT_TRUE(trace["traceEvents"].is_array());
  EXPECT_TRUE(trace["traceEvents"].empty());
}

TEST(Timeline, TimesAreMicrosecondsSinceTheFirstEvent) {
  const auto trace = drawn({move(EventKind::kFetch, 5'000'000, 5'001'500)});
  const auto& slice = trace["traceEvents"].back();
  EXPECT_EQ(slice["ph"], "X");
  EXPECT_EQ(slice["ts"], 0.0);
  EXPECT_EQ(slice["dur"], 1.5);
  EXPECT_EQ(slice["args"]["bytes"], 32u << 20);
  EXPECT_EQ(slice["name"], "fetch 32.0 MiB");
}

TEST(Timeline, AStallNamesItsCause) {
  Event stall = move(EventKind::kStall, 0, 10);
  stall.cause = StallCause::kFileRead;
  EXPECT_EQ(drawn({stall})["traceEvents"].back()["name"], "stall file_read");
}

TEST(Timeline, EachLinkHasATrackOfItsOwn) {
  const auto trace =
      drawn({move(EventKind::kFetch, 0, 10), move(EventKind::kEvict, 0, 10), move(EventKind::kFileRead, 0, 10),
             move(EventKind::kFileWrite, 0, 10), move(EventKind::kStall, 0, 10)});
  std::map<std::string, int> names;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") ++names[event["args"]["name"]];
  }
  const std::map<std::string, int> expected = {
      {"stalls", 1}, {"in: host to device", 1}, {"out: device to host", 1}, {"file read", 1}, {"file write", 1}};
  EXPECT_EQ(names, expected);
}

TEST(Timeline, SlicesOfOneTrackNeverOverlap) {
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < 200; ++i) {
    events.push_back(move(EventKind::kFetch, i * 10, i * 10 + 35));
  }
  std::map<int, double> ends;
  const auto trace = drawn(events);
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const int track = event["tid"];
    EXPECT_GE(event["ts"].get<double>() + 1e-9, ends[track]);
    ends[track] = event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_EQ(ends.size(), 4u);
}

TEST(Timeline, OverlappingSlicesHaveTheirOwnLanes) {
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < 300; ++i) events.push_back(move(EventKind::kFetch, i, 1000));
  std::set<int> tracks;
  const auto trace = drawn(events);
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") tracks.insert(event["tid"].get<int>());
  }
  EXPECT_EQ(tracks.size(), 300u);
}

TEST(Timeline, SlicesHaveTracksOfTheirOwnAboveTheOthers) {
  const std::vector<TrackSlice> slices = {{0, "stream 7", Nanoseconds(1000), Nanoseconds(3500), "a \"b\"", {}},
                                          {0, "stream 9", Nanoseconds(2000), Nanoseconds(3000), "c", 2_MiB},
                                          {1, "stream 7", Nanoseconds(2000), Nanoseconds(3000), "d", {}},
                                          {0, "stream 7", Nanoseconds(3500), Nanoseconds(3600), "e", {}}};
  const std::vector<Event> events = {move(EventKind::kFetch, 4000, 5000)};
  const auto trace = nlohmann::json::parse(timeline_json(events, 0, slices));
  std::map<std::pair<int, int>, std::string> names;  // by process and thread
  std::map<std::string, int> places;
  std::multimap<std::string, std::string> drawn_on;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") continue;
    const std::pair thread(event["pid"].get<int>(), event["tid"].get<int>());
    if (event["name"] == "thread_name") {
      names[thread] = std::to_string(thread.first) + " " + event["args"]["name"].get<std::string>();
    } else if (event["name"] == "thread_sort_index") {
      places[names.at(thread)] = event["args"]["sort_index"];
    } else {
      drawn_on.emplace(names.at(thread), event["name"]);
    }
  }
  EXPECT_EQ(drawn_on, (std::multimap<std::string, std::string>{{"0 in: host to device", "fetch 32.0 MiB"},
                                                               {"0 stream 7", "a \"b\""},
                                                               {"0 stream 7", "e"},
                                                               {"0 stream 9", "c 2.00 MiB"},
                                                               {"1 stream 7", "d"}}));
  EXPECT_LT(places.at("0 stream 7"), places.at("0 stream 9"));
  EXPECT_LT(places.at("1 stream 7"), places.at("0 in: host to device"));
  const auto& fetch = trace["traceEvents"].back();
  EXPECT_EQ(fetch["ts"], 3.0) << "time starts with the first slice";
}

TEST(Timeline, DevicesAreProcessesAndMarksAreInstants) {
  const auto trace = drawn({move(EventKind::kFetch, 0, 1, 0),
                            move(EventKind::kFetch, 0, 1, 1),
                            {EventKind::kMark, 1, Nanoseconds(2), Nanoseconds(2), {}, Bytes(7)}});
  int processes = 0;
  for (const auto& event : trace["traceEvents"]) processes += event["name"] == "process_name";
  EXPECT_EQ(processes, 2);
  EXPECT_EQ(trace["traceEvents"].back()["ph"], "i");
  EXPECT_EQ(trace["traceEvents"].back()["name"], "mark 7");
}

TEST(Timeline, AnIncompleteTimelineReportsIt) { EXPECT_EQ(drawn({}, 12)["otherData"]["lost_events"], 12); }

TEST(Timeline, IsWrittenToAFile) {
  const SteadyClock clock;
  EventLog log(clock, 4);
  log.record(move(EventKind::kEvict, 1, 2));
  const std::string path = ::testing::TempDir() + "timeline_test.json";
  ASSERT_TRUE(write_timeline(log, path).is_ok());
  std::ifstream file(path);
  EXPECT_EQ(nlohmann::json::parse(file)["traceEvents"].size(), 4u);
  EXPECT_EQ(write_timeline(log, "/no/such/folder/x").code(), Code::kIo);
}

}  // namespace
}  // namespace tessera
