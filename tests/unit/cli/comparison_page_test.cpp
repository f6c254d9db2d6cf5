#include "comparison_page.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "report_command.hpp"
#include "sample_history.hpp"

namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

RunFile file_of(const std::string& name, const Json& json) {
  RunFile file{name, {}, json.contains("tessera_history")};
  EXPECT_EQ(file.has_history ? parse_history(json.dump(), file.run) : parse_statistics(json.dump(), file.run), "");
  return file;
}

// With half of the copies in, a page fetched, and another policy.
Json better() {
  Json json = sample_history();
  json["ended_ns"] = 3'200'000;
  json["links"]["in"] = {0, 1 << 20, 0, 0};
  json["stats"]["moves"]["bytes_in"] = 1 << 20;
  json["stats"]["moves"]["fetches"] = 1;
  json["stats"]["tessera"]["policy"] = "<lru>";
  json["stats"]["waits"]["nothing"] = 0;
  json["stats"]["live_bytes_by_tag"] = {{"a&b", 4096}};
  return json;
}

TEST(ComparisonPage, FiguresAreBesideEachOtherWithTheirDifference) {
  const std::string page = comparison_page(file_of("a.json", sample_history()), file_of("b.json", better()));
  EXPECT_THAT(page, HasSubstr("data-compare=\"moves.bytes_in\" data-first=\"2097152\" data-second=\"1048576\">"
                              "&minus;1.00 MiB</td><td>-50.0 %</td>"));
  EXPECT_THAT(page,
              HasSubstr("data-compare=\"run.seconds\" data-first=\"3500000\" data-second=\"3200000\">&minus;300 us"));
  EXPECT_THAT(page,
              HasSubstr("data-compare=\"moves.fetches\" data-first=\"0\" data-second=\"1\">+1</td><td>from 0</td>"));
  EXPECT_THAT(page, HasSubstr("data-compare=\"waits.stall_ns\" data-first=\"603000\" data-second=\"603000\">0</td>"
                              "<td>equal</td>"));
}

TEST(ComparisonPage, OtherFiguresAreListedWhereTheyDiffer) {
  const std::string page = comparison_page(file_of("a.json", sample_history()), file_of("b.json", better()));
  EXPECT_THAT(page, HasSubstr("Other figures that differ"));
  EXPECT_THAT(page, HasSubstr("<td>policy</td><td>auto</td><td>&lt;lru&gt;</td>"));
  EXPECT_THAT(page, HasSubstr("<td>live bytes by tag: a&amp;b</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<lru>")));
  EXPECT_THAT(page, Not(HasSubstr("data-compare=\"device.device_capacity\""))) << "it is equal";
  EXPECT_THAT(page, Not(HasSubstr("waits.nothing"))) << "what is missing is zero";
}

TEST(ComparisonPage, EqualRunsAreCalledSo) {
  const std::string page = comparison_page(file_of("a.json", sample_history()), file_of("b.json", sample_history()));
  EXPECT_THAT(page, HasSubstr("No other figure of the statistics differs."));
  EXPECT_THAT(page, Not(HasSubstr(" %</td>")));
}

TEST(ComparisonPage, HasThePlotsOfBothAndLoadsNothing) {
  const std::string page = comparison_page(file_of("a.json", sample_history()), file_of("b.json", better()));
  for (const char* const heading : {"Residency over time", "Copies", "Stalls of calls"}) {
    EXPECT_THAT(page, HasSubstr(heading));
  }
  EXPECT_THAT(page, HasSubstr("viewBox=\"0 0 520 180\""));
  for (const char* const outside : {"http:", "https:", "src=", "href=", "<script", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(ComparisonPage, StatisticsAloneAreComparedWithoutPlots) {
  const std::string page = comparison_page(file_of("a.json", sample_history()), file_of("b<.json", better()["stats"]));
  EXPECT_THAT(page, HasSubstr("There are no plots: b&lt;.json has statistics only"));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
  EXPECT_THAT(page, Not(HasSubstr("run.seconds")));
  EXPECT_THAT(page, HasSubstr("data-compare=\"moves.bytes_in\" data-first=\"2097152\" data-second=\"1048576\""));
}

TEST(ComparisonCommand, WritesThePageOrReportsWhyNot) {
  const std::string base = ::testing::TempDir() + "comparison_";
  const std::string a = base + "a.json", b = base + "b.json", page = base + "page.html";
  std::ofstream(a) << sample_history().dump();
  std::ofstream(b) << better().dump();
  std::ofstream(base + "trace.json") << R"({"traceEvents": []})";
  EXPECT_EQ(write_comparison(a, b, page), "");
  EXPECT_GT(std::filesystem::file_size(page), 4000U);
  EXPECT_THAT(write_comparison(a, ::testing::TempDir() + "./comparison_a.json", page), HasSubstr("are the same file"));
  EXPECT_THAT(write_comparison(a, b, b), HasSubstr("a different name"));
  EXPECT_THAT(write_comparison(a, "/no/such/file", page), HasSubstr("cannot read /no/such/file"));
  EXPECT_THAT(write_comparison(base + "trace.json", b, page), HasSubstr("comparison_trace.json: not a history"));
  EXPECT_THAT(write_comparison(a, b, "/no/such/folder/page.html"), HasSubstr("cannot write"));
}

}  // namespace
