#include "metrics_text.hpp"

#include <gtest/gtest.h>

namespace {

TopRow row(int pid, const char* name, nlohmann::json stats) { return {pid, name, 1'000'000'000, std::move(stats), {}}; }

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(MetricsText, NothingRunsIsAnEmptySet) { EXPECT_EQ(metrics_text({}, 0), "# EOF\n"); }

TEST(MetricsText, FiguresHaveBaseUnitsAndLabels) {
  const std::string text = metrics_text({row(7, "train",
                                             {{"device", {{"device_used", 4096}}},
                                              {"moves", {{"bytes_in", 100}, {"bytes_out", 50}}},
                                              {"stall_time_by_cause", {{"copy_in_ns", 1'500'000'000}}},
                                              {"live_bytes_by_tag", {{"weights", 12}}},
                                              {"host_bytes_by_tag", {{"weights", 8}}}})},
                                        3'000'000'000);
  const std::string labels = R"(pid="7",heap="0",program="train")";
  EXPECT_TRUE(has_line(text, "tessera_memory_used_bytes{" + labels + R"(,tier="device"} 4096)")) << text;
  EXPECT_TRUE(has_line(text, "tessera_moved_bytes_total{" + labels + R"(,from="host",to="device"} 100)")) << text;
  EXPECT_TRUE(has_line(text, "tessera_stall_by_cause_seconds_total{" + labels + R"(,cause="copy_in"} 1.5)")) << text;
  EXPECT_TRUE(has_line(text, "tessera_tag_live_bytes{" + labels + R"(,tag="weights"} 12)")) << text;
  EXPECT_TRUE(has_line(text, "tessera_tag_memory_bytes{" + labels + R"(,tier="host",tag="weights"} 8)")) << text;
  EXPECT_TRUE(has_line(text, "tessera_sample_age_seconds{" + labels + "} 2")) << text;
  EXPECT_TRUE(has_line(text, "# TYPE tessera_moved_bytes counter")) << text;
  EXPECT_TRUE(has_line(text, "# UNIT tessera_moved_bytes bytes")) << text;
  EXPECT_TRUE(text.ends_with("\n# EOF\n")) << text;
}

TEST(MetricsText, SamplesOfAFamilyStandTogether) {
  const nlohmann::json stats = {{"uses", {{"launches", 5}}}};
  const std::string text = metrics_text({row(7, "a", stats), row(7, "a", stats), row(8, "b", stats)}, 0);
  EXPECT_NE(text.find("# TYPE tessera_launches counter\n"
                      "tessera_launches_total{pid=\"7\",heap=\"0\",program=\"a\"} 5\n"
                      "tessera_launches_total{pid=\"7\",heap=\"1\",program=\"a\"} 5\n"
                      "tessera_launches_total{pid=\"8\",heap=\"0\",program=\"b\"} 5\n"),
            std::string::npos)
      << text;
}

TEST(MetricsText, NamesAreEscapedAndValid) {
  const std::string text =
      metrics_text({row(7, "a\"b\\c\nd\xff", {{"uses", {{"launches", 5}}}, {"tessera", {{"policy", "lru"}}}})}, 0);
  EXPECT_NE(text.find(R"(program="a\"b\\c\nd)"
                      "\xef\xbf\xbd\""),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.find("policy=\"lru\"} 1\n# EOF\n") != std::string::npos) << text;
}

TEST(MetricsText, AFigureWithoutANameIsPublishedAsUnknown) {
  const std::string text = metrics_text({row(7, "a", {{"future", {{"figure", 5}, {"text", "is none"}}}})}, 0);
  EXPECT_TRUE(has_line(text, "# TYPE tessera_future_figure unknown")) << text;
  EXPECT_TRUE(has_line(text, R"(tessera_future_figure{pid="7",heap="0",program="a"} 5)")) << text;
  EXPECT_EQ(text.find("is none"), std::string::npos) << text;
}

}  // namespace
