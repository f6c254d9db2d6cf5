#include "demo_report.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TrainingResult finished(double seconds) {
  TrainingResult result;
  result.process.seconds = seconds;
  result.live_peak = 360 * kMiB;
  result.losses = {"0x1.8p+1", "0x1.4p+0"};
  return result;
}

DemoReport good_report() {
  DemoReport report;
  report.device = "some device";
  report.ample = 1024 * kMiB;
  report.small = 120 * kMiB;
  report.alone = finished(4);
  report.small_alone.process.exit_code = 1;
  report.small_alone.error = "CUDA_ERROR_OUT_OF_MEMORY";
  report.small_tessera = finished(6);
  report.figures = {108 * kMiB, 106 * kMiB, 90 * kMiB,  90 * kMiB,  160 * kMiB, 360 * kMiB,
                    900 * kMiB, 800 * kMiB, 300 * kMiB, 250 * kMiB, 12,         500'000'000};
  return report;
}

TEST(DemoReport, ADemoThatHoldsHasNoFaults) {
  EXPECT_TRUE(good_report().faults().empty());
  EXPECT_DOUBLE_EQ(good_report().slowdown(), 1.5);
}

TEST(DemoReport, AOneBitDifferenceInALossIsAFault) {
  DemoReport report = good_report();
  report.small_tessera.losses.back() = "0x1.4000000000001p+0";
  ASSERT_EQ(report.faults().size(), 1u);
  EXPECT_EQ(report.faults()[0], "the losses of (a) and (c) differ");
}

TEST(DemoReport, EachBrokenClaimIsAFaultOfItsOwn) {
  const auto faults_of = [](auto&& change) {
    DemoReport report = good_report();
    change(report);
    return report.faults().size();
  };
  EXPECT_EQ(faults_of([](auto& r) { r.small_alone = finished(4); }), 1u);
  EXPECT_EQ(faults_of([](auto& r) { r.small_alone.error = "CUDA_ERROR_INVALID_VALUE"; }), 1u);
  EXPECT_EQ(faults_of([](auto& r) { r.small_tessera.process.exit_code = 139; }), 1u);
  EXPECT_EQ(faults_of([](auto& r) { r.figures.device_peak = 121 * kMiB; }), 1u);
  EXPECT_EQ(faults_of([](auto& r) { r.figures.bytes_out = 0; }), 1u);
  EXPECT_EQ(faults_of([](auto& r) { r.figures.bytes_file_read = 0; }), 1u);
  EXPECT_GT(DemoReport().faults().size(), 3u);
}

TEST(DemoReport, TheTableShowsAllThreeRuns) {
  const std::string table = good_report().table();
  for (const char* word :
       {"(a) ample", "CUDA_ERROR_OUT_OF_MEMORY", "106 MiB", "900 MiB", "250 MiB", "500 ms", "1.50", "0x1.4p+0"}) {
    EXPECT_NE(table.find(word), std::string::npos) << word << '\n' << table;
  }
}

TEST(DemoReport, TheJsonReportsWhetherTheLossesAreEqual) {
  const auto json = nlohmann::json::parse(good_report().json());
  EXPECT_EQ(json["losses_equal"], true);
  EXPECT_EQ(json["b"]["outcome"], "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(json["c"]["bytes_file_written"], 250 * kMiB);
  EXPECT_TRUE(json["faults"].empty());
}

TEST(DemoReport, FiguresAreReadFromTheStatisticsFile) {
  DemoFigures figures;
  EXPECT_TRUE(read_figures(std::string(TESSERA_TEST_SOURCE_DIR) + "/tests/golden/stats.json", figures));
  EXPECT_EQ(figures.device_peak, 120 * kMiB);
  EXPECT_EQ(figures.bytes_file_read, 500 * kMiB);
  EXPECT_EQ(figures.stall_ns, 1'500'000'000u);
}

TEST(DemoReport, RefusesABrokenStatisticsFile) {
  DemoFigures figures;
  const std::string path = ::testing::TempDir() + "demo_report_test.json";
  for (const char* text :
       {"", "{", "[]", "{\"device\":{}}", "{\"device\":3}", "{\"device\":{\"device_capacity\":\"much\"}}"}) {
    std::ofstream(path) << text;
    EXPECT_FALSE(read_figures(path, figures)) << text;
  }
  EXPECT_FALSE(read_figures("/no/such/file", figures));
}

}  // namespace
