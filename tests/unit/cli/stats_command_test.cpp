#include "stats_command.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace {

const std::string kFigures = R"({"tessera":{"version":"1"},"moves":{"fetches":3},"live_bytes_by_tag":{}})";

std::string place(int number, const std::string& text) {
  std::string place = fmt::format("{{\"tessera_board\":{},\"pid\":41,\"bytes\":{}}}\n{}\n", number, text.size(), text);
  place.resize(64 << 10, '\0');
  return place;
}

TEST(StatsCommand, ReadsTheFileOfAFinishedRun) {
  StatsText stats;
  EXPECT_EQ(parse_stats(kFigures + "\n", stats), "");
  EXPECT_TRUE(stats.is_json);
  EXPECT_FALSE(stats.is_last_known);
  EXPECT_EQ(parse_stats("tessera\n  version 1\n", stats), "");
  EXPECT_FALSE(stats.is_json);
}

TEST(StatsCommand, TakesTheNewerOfTwoRecords) {
  for (const bool swapped : {false, true}) {
    const std::string old_text = place(6, R"({"tessera":{}})"), new_text = place(7, kFigures);
    StatsText stats;
    EXPECT_EQ(parse_stats(swapped ? new_text + old_text : old_text + new_text, stats), "");
    EXPECT_EQ(stats.text, kFigures);
    EXPECT_TRUE(stats.is_last_known);
    EXPECT_EQ(stats.pid, 41);
  }
}

TEST(StatsCommand, IgnoresAHalfWrittenRecord) {
  std::string torn = place(8, kFigures);
  torn.replace(80, 20, std::string(20, '\0'));
  StatsText stats;
  EXPECT_EQ(parse_stats(place(7, kFigures) + torn, stats), "");
  EXPECT_EQ(stats.text, kFigures);
  EXPECT_EQ(parse_stats(torn, stats), "no statistics");
  // The first update is written to the second place.
  EXPECT_EQ(parse_stats(std::string(64 << 10, '\0') + place(1, kFigures), stats), "");
}

TEST(StatsCommand, RefusesOtherText) {
  StatsText stats;
  EXPECT_NE(parse_stats("", stats), "");
  EXPECT_EQ(parse_stats("hello", stats), "no statistics");
  EXPECT_EQ(parse_stats("{}", stats), "no statistics");
}

TEST(StatsCommand, ATableHasALineForEachFigure) {
  EXPECT_EQ(table_of(kFigures), "tessera\n  version 1\nmoves\n  fetches 3\n");
}

}  // namespace
