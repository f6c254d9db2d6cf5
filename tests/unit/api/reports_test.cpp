#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using ReportsTest = AllocatorMachine;

TEST_F(ReportsTest, FinishWritesTheRequestedFiles) {
  const std::filesystem::path directory = std::filesystem::path(::testing::TempDir()) / "tessera_finish";
  std::filesystem::create_directories(directory);
  Options options = small(32_MiB, 64_MiB);
  options.stats = (directory / "stats.json").string();
  options.timeline = (directory / "timeline.json").string();
  options.trace = (directory / "trace.jsonl").string();
  start(options);
  std::vector<Address> blocks;
  for (int i = 0; i < 12; ++i) {
    blocks.push_back(allocate(4_MiB));
    write(blocks.back(), 3, 4_MiB);
  }
  allocator_->mark("iteration", 1);
  ASSERT_TRUE(allocator_->reports().finish().is_ok());

  const auto stats = nlohmann::json::parse(std::ifstream(options.stats));
  EXPECT_FALSE(stats.empty());
  const auto timeline = nlohmann::json::parse(std::ifstream(options.timeline));
  EXPECT_FALSE(timeline.at("traceEvents").empty());
  std::ifstream trace(options.trace);
  int allocs = 0, ops = 0, marks = 0;
  for (std::string line; std::getline(trace, line);) {
    const std::string kind = nlohmann::json::parse(line).at("t");
    allocs += kind == "alloc";
    ops += kind == "op";
    marks += kind == "mark";
  }
  EXPECT_EQ(allocs, 12);
  EXPECT_EQ(ops, 12);
  EXPECT_EQ(marks, 1);
  std::filesystem::remove_all(directory);
}

// While bytes move, statistics and history are of different times; then the history's figures are taken for both.
TEST_F(ReportsTest, TheFiguresOfAHistoryAreThoseOfTheStatistics) {
  Options options = small(16_MiB, 16_MiB, 512_MiB);
  options.history = ::testing::TempDir() + "figures_of_a_history.json";
  start(options);
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 16; ++i) {
    blocks.push_back(allocate(4_MiB));
    write(blocks.back(), i, 4_MiB);
  }
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_TRUE(holds(blocks[i], i, 4_MiB));
  while (allocator_->heaps().advance()) continue;
  constexpr int kNoTries = 0, kManyTries = 100;
  const auto taken = allocator_->reports().history_text(kNoTries),
             compared = allocator_->reports().history_text(kManyTries);
  ASSERT_TRUE(taken.is_ok() && compared.is_ok());
  const auto of_history = nlohmann::json::parse(taken.value())["stats"];
  const auto of_stats = nlohmann::json::parse(compared.value())["stats"];
  EXPECT_GT(of_stats["moves"]["bytes_file_read"], 0u);
  EXPECT_GT(of_stats["waits"]["stall_ns"], 0u);
  for (const char* group : {"moves", "waits", "stalls_by_cause", "stall_time_by_cause"}) {
    EXPECT_EQ(of_history[group], of_stats[group]) << group;
  }
}

TEST_F(ReportsTest, AProfileHasWhatHappenedInIt) {
  start(small(32_MiB, 64_MiB));
  std::vector<Address> blocks;
  const auto write_all = [&](std::uint32_t pattern) {
    for (const Address block : blocks) write(block, pattern, 4_MiB);
  };
  for (int i = 0; i < 12; ++i) blocks.push_back(allocate(4_MiB));
  write_all(1);
  while (allocator_->heaps().advance()) continue;
  const auto stats = [&] { return allocator_->stats().snapshot().totals; };
  const tessera_stats before = stats();
  ASSERT_TRUE(allocator_->reports().begin_profile().is_ok());
  write_all(2);
  while (allocator_->heaps().advance()) continue;
  const auto text = allocator_->reports().end_profile();
  ASSERT_TRUE(text.is_ok());
  const tessera_stats after = stats();
  ASSERT_GT(before.bytes_out, 0u);
  ASSERT_GT(after.bytes_out, before.bytes_out);
  const auto json = nlohmann::json::parse(text.value());
  EXPECT_GT(json.at("part_from_ns"), 0u);
  EXPECT_EQ(json["stats"]["moves"]["bytes_in"], after.bytes_in - before.bytes_in);
  EXPECT_EQ(json["stats"]["moves"]["bytes_out"], after.bytes_out - before.bytes_out);
  EXPECT_EQ(json["stats"]["waits"]["stall_ns"], after.stall_ns - before.stall_ns);
  EXPECT_EQ(json["stats"]["blocks"]["allocations"], 0u);
  EXPECT_EQ(json["stats"]["blocks"]["live_blocks"], 12u);
  std::uint64_t out = 0, of_blocks = 0;
  for (const auto& bytes : json["links"]["out"]) out += bytes.get<std::uint64_t>();
  for (const auto& block : json["blocks"]) of_blocks += block["out"].get<std::uint64_t>();
  EXPECT_EQ(out, after.bytes_out - before.bytes_out);
  EXPECT_EQ(of_blocks, out) << "all twelve blocks are listed, with what they cost since";
  // Where bytes were at first is known, though they came there before.
  const auto first = [&](const char* place) { return json["residency"].at(0).at(place).at(0).get<std::uint64_t>(); };
  EXPECT_GE(first("device") + first("host"), 47u << 20);
  EXPECT_FALSE(allocator_->reports().end_profile().is_ok());
}

}  // namespace
}  // namespace tessera
