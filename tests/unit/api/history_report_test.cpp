#include "api/history_report.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

class HistoryReportTest : public AllocatorMachine {
 protected:
  HistoryReportTest() : path_(::testing::TempDir() + "history_report_test.json") {}
  // In a file of its own: the option's is written from time to time, by a thread.
  nlohmann::json history() {
    const std::string now = path_ + ".now";
    const Status written = allocator_->reports().write_history(now);
    EXPECT_TRUE(written.is_ok()) << written.to_string();
    return nlohmann::json::parse(std::ifstream(now));
  }
  static std::uint64_t sum(const nlohmann::json& values) {
    std::uint64_t all = 0;
    for (const auto& value : values) all += value.get<std::uint64_t>();
    return all;
  }

  const std::string path_;
};

TEST_F(HistoryReportTest, ItsSumsAreThoseOfTheStatistics) {
  Options options = small(32_MiB, 24_MiB, 256_MiB);
  options.history = path_;
  start(options);
  std::vector<Address> blocks;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 14; ++i) {
      if (round == 0) blocks.push_back(allocate(6_MiB));
      write(blocks[static_cast<std::size_t>(i)], 3, 6_MiB);
    }
  }
  ASSERT_TRUE(allocator_->free(blocks.back(), kNoStream).is_ok());
  while (allocator_->heaps().advance()) {
  }
  const auto json = history();
  const auto& moves = json.at("stats").at("moves");
  EXPECT_EQ(sum(json["links"]["in"]), moves["bytes_in"]);
  EXPECT_EQ(sum(json["links"]["out"]), moves["bytes_out"]);
  EXPECT_EQ(sum(json["links"]["file_read"]), moves["bytes_file_read"]);
  EXPECT_EQ(sum(json["links"]["file_write"]), moves["bytes_file_written"]);
  EXPECT_GT(moves["bytes_file_written"].get<std::uint64_t>(), 0U);
  std::uint64_t waited = 0;
  for (const auto& [cause, times] : json["stalls"].items()) {
    EXPECT_EQ(sum(times), json["stats"]["stall_time_by_cause"][cause + "_ns"]) << cause;
    waited += sum(times);
  }
  EXPECT_EQ(waited, json["stats"]["waits"]["stall_ns"]);
  EXPECT_GT(waited, 0U);
}

TEST_F(HistoryReportTest, PoliciesAreThereWithTheirTimesAsManyAsAreKept) {
  Options options = small(32_MiB, 64_MiB);
  options.history = path_;
  options.policy = "recency";
  start(options);
  ASSERT_TRUE(allocator_->heaps().set_policy("atc24:0.5").is_ok());
  const auto json = history();
  ASSERT_EQ(json["policies"].size(), 2U);
  EXPECT_EQ(json["policies"][0], nlohmann::json::parse(R"({"from_ns":0,"name":"recency"})"));
  EXPECT_EQ(json["policies"][1]["name"], "atc24:0.5");
  EXPECT_GT(json["policies"][1]["from_ns"].get<std::uint64_t>(), 0U);
  EXPECT_LE(json["policies"][1]["from_ns"], json["ended_ns"]);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(allocator_->heaps().set_policy("lru").is_ok());
  EXPECT_EQ(history()["policies"].size(), 64U);
}

TEST_F(HistoryReportTest, ResidencyIsByTagAndPlace) {
  Options options = small(32_MiB, 64_MiB);
  options.history = path_;
  start(options);
  ASSERT_TRUE(TagStack::push(allocator_->tags().intern("weights").value()).is_ok());
  const Address away = allocate(4_MiB);
  ASSERT_TRUE(TagStack::pop().is_ok());
  write(away, 1, 4_MiB);
  write(allocate(8_MiB), 1, 8_MiB);
  ASSERT_TRUE(allocator_->hints().evict({&away, 1}).is_ok());
  const auto json = history();
  ASSERT_EQ(json["residency"].size(), 2U);
  for (const auto& tag : json["residency"]) {
    const bool weights = tag["tag"] == "weights";
    EXPECT_TRUE(weights || tag["tag"] == "untagged");
    EXPECT_EQ(tag["device"].size(), json["links"]["in"].size());
    EXPECT_LE(tag["device"].back(), weights ? (4_MiB).value() : (8_MiB).value());
    EXPECT_EQ(sum(tag["host"]) > 0, weights);
  }
  ASSERT_EQ(json["blocks"].size(), 1U);
  EXPECT_EQ(json["blocks"][0]["tag"], "weights");
  EXPECT_EQ(json["blocks"][0]["out"], (4_MiB).value());
}

TEST_F(HistoryReportTest, WithoutTheOptionNoneIsKept) {
  start(small(32_MiB, 64_MiB));
  EXPECT_EQ(allocator_->reports().write_history(path_).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
