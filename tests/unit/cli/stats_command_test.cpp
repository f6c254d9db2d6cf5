#include "stats_command.hpp"

#include <gtest/gtest.h>

#include "last_known_file.hpp"

namespace {

const std::string kNone = "no statistics; `tessera run --stats FILE` writes them, `tessera report` draws a history";
const std::string kFigures = R"({"tessera":{"version":"1"},"moves":{"fetches":3},"live_bytes_by_tag":{}})";

TEST(StatsCommand, ReadsTheFileOfAFinishedRun) {
  StatsText stats;
  EXPECT_EQ(parse_stats(kFigures + "\n", stats), "");
  EXPECT_TRUE(stats.is_json);
  EXPECT_EQ(stats.last_of, std::nullopt);
  EXPECT_EQ(parse_stats("tessera\n  version 1\n", stats), "");
  EXPECT_FALSE(stats.is_json);
}

TEST(StatsCommand, ReadsTheLastKnownFigures) {
  StatsText stats;
  EXPECT_EQ(parse_stats(LastKnownFile().add(3, kFigures).contents, stats), "");
  EXPECT_EQ(stats.text, kFigures);
  EXPECT_TRUE(stats.is_json);
  EXPECT_EQ(stats.last_of, 4194305);
  EXPECT_EQ(parse_stats(LastKnownFile().add(3, R"({"tessera_history":1})").contents, stats), kNone);
}

TEST(StatsCommand, RefusesOtherText) {
  StatsText stats;
  EXPECT_NE(parse_stats("", stats), "");
  EXPECT_EQ(parse_stats("hello", stats), kNone);
  EXPECT_EQ(parse_stats("{}", stats), kNone);
}

TEST(StatsCommand, ATableHasALineForEachFigure) {
  EXPECT_EQ(table_of(kFigures), "tessera\n  version 1\nmoves\n  fetches 3\n");
}

}  // namespace
