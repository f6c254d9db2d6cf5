#include "report_page.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "report_command.hpp"
#include "sample_history.hpp"

namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

std::string report_of(const Json& json) {
  RunHistory history;
  EXPECT_EQ(parse_history(json.dump(), history), "");
  return report_page(history);
}

std::string problem_of(const Json& json) {
  RunHistory history;
  return parse_history(json.dump(), history);
}

TEST(RunHistory, IsReadWithItsSums) {
  RunHistory history;
  ASSERT_EQ(parse_history(sample_history().dump(), history), "");
  EXPECT_EQ(history.program, "<train>");
  EXPECT_EQ(history.slots(), 4U);
  EXPECT_DOUBLE_EQ(history.seconds, 0.0035);
  EXPECT_EQ(history.links[0].sum(), 2 << 20);
  EXPECT_EQ(history.figure("moves", "bytes_in"), 2U << 20);
  EXPECT_EQ(history.figure("moves", "no_such"), 0U);
  EXPECT_EQ(history.blocks[0].stall_ns, 603'000U);
}

TEST(ReportPage, OfAPartSaysWhichFiguresAreThePartsOwn) {
  Json json = sample_history();
  EXPECT_THAT(report_of(json), Not(HasSubstr("A part of the run")));
  json["part_from_ns"] = 12'000'000'000;
  EXPECT_THAT(report_of(json), HasSubstr("A part of the run, from 12.0 s on."));
}

TEST(RunHistory, FewerSlotsHaveTheSameSumsAndMeans) {
  RunHistory history;
  ASSERT_EQ(parse_history(sample_history().dump(), history), "");
  const RunHistory coarse = with_slots(history, 3);
  EXPECT_EQ(coarse.slots(), 2U);
  EXPECT_DOUBLE_EQ(coarse.slot_seconds, 0.002);
  EXPECT_EQ(coarse.links[0].values, (std::vector<double>{1 << 20, 1 << 20}));
  EXPECT_EQ(coarse.stalls[0].sum(), history.stalls[0].sum());
  EXPECT_EQ(coarse.tags[0].bytes[0], (std::vector<double>{1 << 20, 0}));
  EXPECT_EQ(with_slots(history, 4).slots(), 4U);
}

TEST(RunHistory, RefusesInconsistentFigures) {
  Json json = sample_history();
  json["links"]["out"][2] = 1;
  EXPECT_THAT(problem_of(json), HasSubstr("do not add up: bytes_out is 1048576, but its parts sum to 1048577"));
  json = sample_history();
  json["stalls"]["copy_out"][0] = 1;
  EXPECT_THAT(problem_of(json), HasSubstr("do not add up: copy_out_ns"));
}

TEST(RunHistory, AnInvalidHistoryIsAReadableError) {
  RunHistory history;
  EXPECT_THAT(parse_history("{}", history), HasSubstr("--history"));
  EXPECT_THAT(parse_history("nonsense", history), HasSubstr("--history"));
  EXPECT_THAT(parse_history("", history), HasSubstr("killed"));
  Json json = sample_history();
  json["tessera_history"] = 2;
  EXPECT_THAT(problem_of(json), HasSubstr("another version"));
  json = sample_history();
  json.erase("links");
  EXPECT_THAT(problem_of(json), HasSubstr("links"));
  json = sample_history();
  json["residency"][0]["host"].push_back(1);
  EXPECT_THAT(problem_of(json), HasSubstr("different lengths"));
}

TEST(RunHistory, StatisticsOfAnotherShapeAreRefused) {
  Json json = sample_history();
  json["stats"].erase("tessera");
  EXPECT_THAT(problem_of(json), HasSubstr("tessera"));
  json = sample_history();
  json["stats"]["waits"] = 3;
  EXPECT_THAT(problem_of(json), HasSubstr("number"));
  json = sample_history();
  json["stats"]["moves"]["bytes_in"] = "many";
  EXPECT_THAT(problem_of(json), HasSubstr("do not add up: bytes_in is 0"));
  json = sample_history();
  json["stats"]["tessera"]["policy"] = 7;
  json["stats"]["blocks"]["peak_live_bytes"] = "many";
  EXPECT_THAT(report_of(json), HasSubstr("policy 7 &middot;"));
}

TEST(ReportPage, NamesThePoliciesInUse) {
  EXPECT_THAT(report_of(sample_history()), HasSubstr("policy auto &middot;"));
  Json json = sample_history();
  json["policies"] = {{{"from_ns", 0}, {"name", "lru"}}, {{"from_ns", 2'000'000}, {"name", "auto"}}};
  EXPECT_THAT(report_of(json), HasSubstr("policy lru, from 2.00 ms auto &middot;"));
  for (int i = 0; i < 9; ++i) json["policies"].push_back({{"from_ns", 3'000'000}, {"name", "a&b"}});
  EXPECT_THAT(report_of(json), HasSubstr("from 3.00 ms a&amp;b, 3 more, now auto &middot;"));
}

TEST(ReportPage, IsSelfContained) {
  const std::string page = report_of(sample_history());
  for (const char* const outside : {"http:", "https:", "src=", "href=", "<script", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(ReportPage, NamesTheLongestWait) {
  const std::string page = report_of(sample_history());
  EXPECT_THAT(page, HasSubstr("waited 603 us in total, 17.2 % of the run; 100 % of that for <b>evictions to host"));
  EXPECT_THAT(page, HasSubstr("<code>copy_out</code></td><td>2</td>"));
}

TEST(ReportPage, SaysThatMostMemoryWasOutsideTheHeap) {
  Json json = sample_history();
  json["stats"]["outside"] = {{"outside_peak", 4 << 20}};
  EXPECT_THAT(report_of(json), Not(HasSubstr("outside the heap")));
  json["stats"]["outside"] = {{"outside_peak", 5 << 20}};
  EXPECT_THAT(report_of(json), HasSubstr("<b>outside the heap</b> and did not move: 5.00 MiB at the peak"));
}

TEST(ReportPage, NamesOfTheProgramAreEscaped) {
  const std::string page = report_of(sample_history());
  EXPECT_THAT(page, HasSubstr("<h1>&lt;train&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("a&amp;b"));
  EXPECT_THAT(page, Not(HasSubstr("a&b")));
}

TEST(ReportPage, EverySumIsShownBesideItsStatistic) {
  const std::string page = report_of(sample_history());
  EXPECT_THAT(page, HasSubstr("data-sum=\"moves.bytes_in\" data-value=\"2097152\""));
  EXPECT_THAT(page, HasSubstr("data-figure=\"moves.bytes_in\" data-value=\"2097152\""));
  EXPECT_THAT(page, HasSubstr("data-sum=\"stall_time_by_cause.copy_out_ns\" data-value=\"600000\""));
}

TEST(ReportPage, AQuietRunIsReportedWithoutInvalidNumbers) {
  Json json = sample_history();
  for (auto& [link, bytes] : json["links"].items()) bytes = {0, 0, 0, 0};
  for (auto& [name, figure] : json["stats"]["moves"].items()) figure = 0;
  json["stalls"] = Json::object();
  json["blocks"] = Json::array();
  json["residency"] = Json::array();
  const std::string page = report_of(json);
  EXPECT_THAT(page, HasSubstr("No call of the program waited"));
  EXPECT_THAT(page, HasSubstr("everything fit"));
  for (const char* const bad : {"inf", "nan"}) EXPECT_THAT(page, Not(HasSubstr(bad)));
}

TEST(ReportPage, TagsBeyondTheColoursAreOne) {
  Json json = sample_history();
  for (int i = 0; i < 20; ++i) {
    json["residency"].push_back(
        {{"tag", "t" + std::to_string(i)}, {"device", {i, i, i, i}}, {"host", {0, 0, 0, 0}}, {"file", {0, 0, 0, 0}}});
  }
  const std::string page = report_of(json);
  EXPECT_THAT(page, HasSubstr("all others"));
  EXPECT_THAT(page, HasSubstr("</i>t19<"));
  EXPECT_THAT(page, Not(HasSubstr("</i>t2<")));
}

TEST(ReportCommand, WritesThePageOrReportsWhyNot) {
  const std::string base = ::testing::TempDir() + "report_command";
  std::ofstream(base + ".json") << sample_history().dump();
  EXPECT_EQ(write_report(base + ".json", base + ".html"), "");
  EXPECT_GT(std::filesystem::file_size(base + ".html"), 4000U);
  EXPECT_THAT(write_report(base + ".json", base + ".json"), HasSubstr("a different name"));
  EXPECT_THAT(write_report("/no/such/file", base + ".html"), HasSubstr("cannot read"));
  EXPECT_THAT(write_report(base + ".json", "/no/such/folder/page.html"), HasSubstr("cannot write"));
}

}  // namespace
