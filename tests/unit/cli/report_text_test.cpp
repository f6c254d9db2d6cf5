#include "report_text.hpp"

#include <gtest/gtest.h>

namespace {

std::string value(const std::string& group, const std::string& name, double number) {
  return figure_text(group, name, number).value;
}

TEST(ReportText, FiguresAreBytesTimesOrCountsByTheirNames) {
  EXPECT_EQ(value("moves", "bytes_in", 2 << 20), "2.00 MiB");
  EXPECT_EQ(value("device", "device_spare", 2 << 20), "2.00 MiB");
  EXPECT_EQ(value("live_bytes_by_tag", "weights", 2 << 20), "2.00 MiB");
  EXPECT_EQ(value("outside", "graph_peak", 2 << 20), "2.00 MiB");
  EXPECT_EQ(value("host_blocks", "host_block_pinned", 2 << 20), "2.00 MiB");
  EXPECT_EQ(value("host_blocks", "host_blocks", 2000), "2000");
  EXPECT_EQ(value("moves", "fetches", 2000), "2000");
  EXPECT_EQ(value("waits", "stall_ns", 1'500'000'000), "1.50 s");
  EXPECT_EQ(value("waits", "stall_ns", 0), "0");
}

TEST(ReportText, NamesHaveBlanksAndTimesAreCalledSo) {
  EXPECT_EQ(figure_text("moves", "bytes_in", 0).name, "bytes in");
  EXPECT_EQ(figure_text("stall_time_by_cause", "copy_in_ns", 0).name, "copy in time");
}

TEST(ReportText, AnUnknownCauseHasARemedyToo) {
  EXPECT_STREQ(stall_remedy("copy_in").waited_for, "fetches from host memory");
  EXPECT_STREQ(stall_remedy("of a later version").waited_for, "");
  EXPECT_STREQ(stall_remedy("of a later version").remedy, "see docs/stats.md");
}

}  // namespace
