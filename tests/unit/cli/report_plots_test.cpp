#include "report_plots.hpp"

#include <gmock/gmock.h>

#include "sample_history.hpp"

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunHistory run_of(const nlohmann::ordered_json& json) {
  RunHistory history;
  EXPECT_EQ(parse_history(json.dump(), history), "");
  return history;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The same run, with twice the bytes in half of the time, on a device of twice the size.
nlohmann::ordered_json faster() {
  nlohmann::ordered_json json = sample_history();
  json["slot_ns"] = 500'000;
  json["ended_ns"] = 1'750'000;
  json["links"]["in"] = {0, 2 << 20, 2 << 20, 0};
  json["stats"]["moves"]["bytes_in"] = 4 << 20;
  json["stats"]["device"]["device_capacity"] = 4 << 20;
  return json;
}

TEST(ReportPlots, OneRunIsDrawnOverTheWholeWidth) {
  const ReportPlots plots({run_of(sample_history())});
  EXPECT_EQ(count(plots.residency(), "viewBox=\"0 0 1000 180\""), 2U) << "the device and the host";
  EXPECT_THAT(plots.residency(), Not(HasSubstr("in the file")));
  EXPECT_EQ(count(plots.links(), "<svg"), 2U);
  EXPECT_EQ(count(plots.stalls(), "<svg"), 1U);
  EXPECT_THAT(plots.links(), Not(HasSubstr("class=\"pair\"")));
}

TEST(ReportPlots, SeveralRunsAreBesideEachOtherWithTheSameAxes) {
  const ReportPlots plots({run_of(sample_history()), run_of(faster())});
  const std::string links = plots.links();
  EXPECT_EQ(count(links, "class=\"pair\""), 2U);
  EXPECT_EQ(count(links, "<svg"), 4U);
  // The longest axis of time, and the highest rate: that of the second run.
  EXPECT_EQ(count(links, ">3 ms<"), 4U);
  EXPECT_EQ(count(links, ">4 GiB/s<"), 2U);
  EXPECT_EQ(count(ReportPlots({run_of(sample_history())}).links(), ">4 GiB/s<"), 0U);
  EXPECT_THAT(plots.residency(), HasSubstr("2.00 MiB allowed"));
  EXPECT_THAT(plots.residency(), HasSubstr("4.00 MiB allowed"));
  EXPECT_EQ(count(plots.residency(), ">4 MiB<"), 2U) << "the axis of the device in both";
}

TEST(ReportPlots, ATagHasOneColourInAllRuns) {
  nlohmann::ordered_json other = sample_history();
  other["residency"].erase(0);  // "weights", which is ranked first
  other["residency"].push_back(
      {{"tag", "new"}, {"device", {0, 0, 0, 1}}, {"host", {0, 0, 0, 0}}, {"file", {0, 0, 0, 0}}});
  const std::string text = ReportPlots({run_of(sample_history()), run_of(other)}).residency();
  const auto area = [&](const char* colour, const char* tag) {
    const std::size_t end = text.find(std::string("<title>") + tag);
    return text.substr(text.rfind("<polygon", end), 30).find(colour) != std::string::npos;
  };
  EXPECT_TRUE(area(kPageColours[0], "weights"));
  EXPECT_TRUE(area(kPageColours[1], "a&amp;b"));
  EXPECT_TRUE(area(kPageColours[2], "new"));
  EXPECT_EQ(count(text, "<title>new<"), 4U) << "in both runs and memories, where it may be empty";
}

TEST(ReportPlots, TheAxisOfALiveViewEndsNow) {
  const std::string text = ReportPlots({run_of(sample_history())}, ReportPlots::Time::kUntilNow).links();
  EXPECT_THAT(text, HasSubstr(">now<"));
  EXPECT_THAT(text, HasSubstr(">-3 ms<"));
  EXPECT_THAT(text, Not(HasSubstr(">3 ms<")));
}

TEST(ReportPlots, ManySlotsAreMerged) {
  nlohmann::ordered_json json = sample_history();
  const std::vector<int> none(1000);
  for (auto& [link, bytes] : json["links"].items()) bytes = none;
  for (auto& [name, figure] : json["stats"]["moves"].items()) figure = 0;
  json["stalls"] = nlohmann::ordered_json::object();
  json["residency"] = nlohmann::ordered_json::array();
  const ReportPlots plots({run_of(json)});
  EXPECT_EQ(plots.run(0).slots(), 200U);
  EXPECT_EQ(plots.links() + plots.stalls(), "");
}

}  // namespace
