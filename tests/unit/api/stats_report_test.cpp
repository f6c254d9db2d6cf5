#include "api/stats_report.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

namespace tessera {
namespace {

std::string golden(const std::string& name) {
  std::ifstream file(std::string(TESSERA_TEST_SOURCE_DIR) + "/tests/golden/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Distinct figures with consistent sums.
StatsSnapshot sample() {
  StatsSnapshot stats;
  tessera_stats& s = stats.totals;
  s.size = sizeof(s);
  s.devices = 1;
  s.live_blocks = 30, s.allocations = 130, s.frees = 100, s.cache_hits = 77;
  s.live_bytes = 300 << 20, s.peak_live_bytes = 310 << 20, s.reserved_bytes = 320 << 20;
  s.device_capacity = 128 << 20, s.device_used = 96 << 20, s.device_spare = 16 << 20;
  s.device_peak = 120 << 20;
  s.peer_capacity = 32 << 20, s.peer_used = 12 << 20, s.peer_peak = 24 << 20;
  s.host_capacity = 64 << 20, s.host_used = 60 << 20, s.host_peak = 64 << 20;
  s.file_capacity = 1ull << 30, s.file_used = 164 << 20, s.file_peak = 190 << 20;
  s.bytes_in = 1000 << 20, s.bytes_out = 900 << 20;
  s.bytes_file_read = 500 << 20, s.bytes_file_written = 450 << 20;
  s.bytes_peer_in = 70 << 20, s.bytes_peer_out = 60 << 20;
  s.fetches = 41, s.evictions = 42, s.forwards = 3, s.clean_evictions = 4, s.discards = 5;
  s.stalls = 21, s.stall_ns = 1'500'000'000, s.late_fetches = 6;
  s.launches = 1000, s.uses = 4000;
  s.pinned_bytes = 8 << 20, s.exposed_bytes = 2 << 20, s.zero_copy_bytes = 3 << 20;
  s.reachable_bytes = 1 << 20, s.left_unreachable = 9, s.exchanges = 11;
  s.idle_ns = 90'000'000'000, s.asleep = 1, s.idle_sleeps = 3;
  s.graph_peak = 6 << 20, s.outside_bytes = 40 << 20, s.outside_peak = 50 << 20;
  s.host_blocks = 2, s.host_block_bytes = 3 << 20, s.host_block_peak = 5 << 20, s.host_block_pinned = 8 << 20;
  s.driver_host_bytes = 12 << 20, s.registered_bytes = 13 << 20;
  s.dropped_bytes = 48 << 20, s.recomputes = 7, s.recomputed_bytes = 40 << 20, s.recompute_ns = 2'500'000;
  s.checks = 12, s.checks_changed = 8, s.unchanged_evictions = 3, s.unchanged_bytes = 14 << 20;
  stats.facts = {{"policy", "recency"}};
  stats.tags = {{"", 10, 100_MiB}, {"weights", 20, 200_MiB}};
  stats.tag_pages = {{"", {40_MiB, Bytes(), 20_MiB, Bytes()}}, {"weights", {56_MiB, 12_MiB, 20_MiB, 164_MiB}}};
  stats.exposures = {{"cuIpcGetMemHandle", 2_MiB, "share (program+0x10) < main (program+0x20)"}};
  stats.outside = {{"imported", "", "cuMemMap of libnccl.so.2", 5_MiB, 5_MiB, true},
                   {"managed", "", "cuMemAllocManaged", 40_MiB, 50_MiB, false}};
  stats.causes = {{"copy_in", 20, Nanoseconds(1'000'000'000)}, {"mapping", 1, Nanoseconds(500'000'000)}};
  return stats;
}

TEST(StatsReport, TheTableIsTheGoldenOne) { EXPECT_EQ(stats_table(sample()), golden("stats_table.txt")); }

TEST(StatsReport, TheJsonIsTheGoldenOne) { EXPECT_EQ(stats_json(sample()) + "\n", golden("stats.json")); }

TEST(StatsReport, EveryFieldOfTheStructIsInTheJsonUnderItsOwnName) {
  const auto json = nlohmann::json::parse(stats_json(sample()));
  std::map<std::string, std::uint64_t> figures;
  for (const auto& group : json) {
    for (const auto& [name, value] : group.items()) {
      if (value.is_number()) figures[name] = value;
    }
  }
  EXPECT_EQ(figures["live_blocks"], 30u);
  EXPECT_EQ(figures["bytes_file_written"], 450u << 20);
  EXPECT_EQ(figures["stall_ns"], 1'500'000'000u);
  EXPECT_EQ(figures["clean_evictions"], 4u);
  // Two 32-bit fields first, then one number per field.
  const std::size_t fields = 1 + (sizeof(tessera_stats) - 2 * sizeof(std::uint32_t)) / 8;
  const std::size_t parts = 2 + 1 + 2 + 2 + 2;
  EXPECT_EQ(figures.size(), fields + parts);
}

TEST(StatsReport, TheManualExplainsEveryLine) {
  std::ifstream file(std::string(TESSERA_TEST_SOURCE_DIR) + "/docs/stats.md");
  std::ostringstream manual;
  manual << file.rdbuf();
  const auto json = nlohmann::json::parse(stats_json(sample()));
  for (const auto& [group, figures] : json.items()) {
    EXPECT_NE(manual.str().find(group), std::string::npos) << group;
    if (group.ends_with("_by_tag") || group.find("_by_") != std::string::npos) continue;
    for (const auto& [name, value] : figures.items()) {
      EXPECT_NE(manual.str().find("`" + name + "`"), std::string::npos) << name;
    }
  }
}

TEST(StatsReport, ConsistentFiguresAreAccepted) {
  const Status status = check_sums(sample());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_TRUE(check_sums(StatsSnapshot()).is_ok());
}

TEST(StatsReport, RandomConsistentFiguresAreAcceptedAndOneMoreIsNot) {
  std::mt19937_64 random(7);
  const auto up_to = [&](std::uint64_t n) { return random() % (n + 1); };
  for (int round = 0; round < 200; ++round) {
    StatsSnapshot stats;
    tessera_stats& s = stats.totals;
    for (int i = 0; i < 4; ++i) {
      const StatsSnapshot::Tag tag{"t" + std::to_string(i), up_to(99), Bytes(up_to(1 << 30))};
      stats.tags.push_back(tag);
      s.live_blocks += tag.blocks;
      s.live_bytes += tag.bytes.value();
      const StatsSnapshot::Stalls cause{"c", up_to(9), Nanoseconds(up_to(1 << 20))};
      stats.causes.push_back(cause);
      s.stalls += cause.stalls;
      s.stall_ns += cause.time.value();
    }
    s.frees = up_to(1000);
    s.allocations = s.live_blocks + s.frees;
    s.cache_hits = up_to(s.allocations);
    s.peak_live_bytes = s.live_bytes + up_to(1 << 20);
    s.reserved_bytes = s.live_bytes + up_to(1 << 20);
    s.device_used = up_to(1 << 30), s.device_spare = up_to(1 << 30);
    s.device_peak = s.device_used + up_to(s.device_spare);
    s.device_capacity = s.device_used + s.device_spare;
    ASSERT_TRUE(check_sums(stats).is_ok()) << check_sums(stats).to_string();

    std::uint64_t* const wrong[] = {&s.live_blocks, &s.frees, &s.allocations, &s.live_bytes, &s.stalls, &s.stall_ns};
    ++*wrong[up_to(std::size(wrong) - 1)];
    EXPECT_EQ(check_sums(stats).code(), Code::kInternal);
  }
}

TEST(StatsReport, ABudgetThatIsExceededIsNamed) {
  StatsSnapshot stats = sample();
  stats.totals.device_spare += 64 << 20;
  EXPECT_NE(check_sums(stats).message().find("device_used + device_spare"), std::string_view::npos);
}

TEST(StatsReport, PartsOfOneNameOnSeveralDevicesAreOneLine) {
  StatsSnapshot stats;
  stats.tags = {{"kv", 1, 3_MiB}, {"", 1, 1_MiB}, {"kv", 1, 4_MiB}};
  const auto json = nlohmann::json::parse(stats_json(stats));
  EXPECT_EQ(json["live_bytes_by_tag"]["kv"], 7u << 20);
  EXPECT_EQ(json["live_bytes_by_tag"]["untagged"], 1u << 20);
}

TEST(StatsReport, EveryReasonIsALineWithItsSumAndItsFirstCall) {
  StatsSnapshot stats;
  EXPECT_TRUE(exposure_lines(stats).empty());
  stats.exposures = {{"a", 3_MiB, ""}, {"b", 1_MiB, "f < g"}, {"a", 4_MiB, ""}};
  const std::vector<std::string> lines = exposure_lines(stats);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "exposed: 7.00 MiB had to stay in device memory: a");
  EXPECT_EQ(lines[1], "exposed: 1.00 MiB had to stay in device memory: b, first by f < g");
}

TEST(StatsReport, LinesAboutExposuresAreBounded) {
  StatsSnapshot stats;
  for (int i = 0; i < 100; ++i) stats.exposures.push_back({std::to_string(i), 1_MiB, ""});
  const std::vector<std::string> lines = exposure_lines(stats);
  ASSERT_EQ(lines.size(), 17u);
  EXPECT_EQ(lines.back(), "84 more reasons are listed in the statistics");
}

TEST(StatsReport, TheEndingOfTheNameChoosesTheForm) {
  const std::string base = ::testing::TempDir() + "stats_report_test";
  ASSERT_TRUE(write_stats(sample(), base + ".json").is_ok());
  ASSERT_TRUE(write_stats(sample(), base + ".txt").is_ok());
  std::ifstream json(base + ".json"), table(base + ".txt");
  EXPECT_TRUE(nlohmann::json::accept(json));
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line, "tessera");
}

}  // namespace
}  // namespace tessera
