#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using AllocatorReport = AllocatorMachine;

TEST_F(AllocatorReport, StatisticsAddUpAfterTraffic) {
  start(small(32_MiB, 64_MiB));
  std::vector<Address> blocks;
  for (int i = 0; i < 16; ++i) {
    blocks.push_back(allocate(i % 2 == 0 ? 4_MiB : 100_KiB));
    write(blocks.back(), 3, 64_KiB);
  }
  for (std::size_t i = 0; i < blocks.size(); i += 3) {
    ASSERT_TRUE(allocator_->free(blocks[i], kNoStream).is_ok());
  }
  ASSERT_TRUE(allocator_->expose(blocks[1], "cuIpcGetMemHandle").is_ok());
  const StatsSnapshot stats = allocator_->stats();
  const Status sums = check_sums(stats);
  EXPECT_TRUE(sums.is_ok()) << sums.to_string();
  EXPECT_EQ(stats.totals.live_blocks, 10u);
  EXPECT_EQ(stats.totals.exposed_bytes, kBasePage.value());
  ASSERT_EQ(stats.exposures.size(), 1u);
  EXPECT_EQ(stats.exposures[0].reason, "cuIpcGetMemHandle");
}

TEST_F(AllocatorReport, HostFiguresIncludeStagedPages) {
  start(small(32_MiB, 2_MiB, 512_MiB));
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 8; ++i) {
    blocks.push_back(allocate(16_MiB));
    write(blocks.back(), i, 16_MiB);
  }
  const tessera_stats now = allocator_->stats().totals;
  EXPECT_EQ(now.host_capacity, Bytes(2_MiB + HostTier::staging_for(2_MiB, 512_MiB)).value());
  EXPECT_GT(now.host_peak, Bytes(2_MiB).value()) << "what went to the file was in host memory before";
  const Status sums = check_sums(allocator_->stats());
  EXPECT_TRUE(sums.is_ok()) << sums.to_string();
}

// While bytes move, statistics and history are of different times; then the history's figures are taken for both.
TEST_F(AllocatorReport, TheFiguresOfAHistoryAreThoseOfTheStatistics) {
  Options options = small(16_MiB, 16_MiB, 512_MiB);
  options.history = ::testing::TempDir() + "figures_of_a_history.json";
  start(options);
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 16; ++i) {
    blocks.push_back(allocate(4_MiB));
    write(blocks.back(), i, 4_MiB);
  }
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_TRUE(holds(blocks[i], i, 4_MiB));
  while (allocator_->advance()) continue;
  constexpr int kNoTries = 0, kManyTries = 100;
  const auto taken = allocator_->history_text(kNoTries), compared = allocator_->history_text(kManyTries);
  ASSERT_TRUE(taken.is_ok() && compared.is_ok());
  const auto of_history = nlohmann::json::parse(taken.value())["stats"];
  const auto of_stats = nlohmann::json::parse(compared.value())["stats"];
  EXPECT_GT(of_stats["moves"]["bytes_file_read"], 0u);
  EXPECT_GT(of_stats["waits"]["stall_ns"], 0u);
  for (const char* group : {"moves", "waits", "stalls_by_cause", "stall_time_by_cause"}) {
    EXPECT_EQ(of_history[group], of_stats[group]) << group;
  }
}

class OutOfMemory : public AllocatorMachine {
 protected:
  // Fills all tiers with blocks of 4 MiB; returns the error message of the first that does not fit.
  std::string message_when_full() {
    for (int i = 0; i < 64; ++i) {
      const auto block = allocator_->allocate(DeviceId(), 4_MiB, kNoStream);
      if (!block.is_ok()) return std::string(block.status().message());
      write(block.value(), 1, 4_MiB);
    }
    return "never full";
  }
};

TEST_F(OutOfMemory, ReportsAFullHostBudget) {
  start(small(16_MiB, 16_MiB));
  const std::string message = message_when_full();
  EXPECT_NE(message.find("try: raise --file-memory"), std::string::npos) << message;
  EXPECT_NE(message.find("16.0 used + 0.0 free"), std::string::npos) << message;
}

TEST_F(OutOfMemory, ReportsDisabledAutomaticEviction) {
  start(small(16_MiB, 64_MiB));
  ASSERT_TRUE(allocator_->set_automatic(false).is_ok());
  const std::string message = message_when_full();
  EXPECT_NE(message.find("automatic eviction"), std::string::npos) << message;
}

TEST_F(OutOfMemory, NamesTheCallThatExposedBlocks) {
  start(small(16_MiB, 64_MiB));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(allocator_->expose(allocate(4_MiB), "cuIpcGetMemHandle").is_ok());
  const std::string message = message_when_full();
  EXPECT_NE(message.find("mostly by cuIpcGetMemHandle"), std::string::npos) << message;
}

TEST_F(OutOfMemory, ReportsAUsedUpWriteBudget) {
  Options options = small(16_MiB, Bytes(), 512_MiB);
  options.file_write_budget = 8_MiB;
  start(options);
  const std::string message = message_when_full();
  EXPECT_NE(message.find("try: raise --file-write-budget"), std::string::npos) << message;
}

TEST_F(OutOfMemory, ReportsABlockOrLaunchLargerThanTheDevice) {
  start(small(16_MiB, 64_MiB));
  const auto large = allocator_->allocate(DeviceId(), 20_MiB, kNoStream);
  EXPECT_NE(large.status().message().find("a block of 20.0 MiB"), std::string_view::npos) << large.status().message();
  std::vector<Address> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(allocate(4_MiB));
  AnnouncedUse use;
  const Status begun = allocator_->begin_use(blocks, StreamId(), Access::kWrite, Use::Kind::kHold, "", use);
  EXPECT_NE(begun.message().find("one launch on device 0 uses 20.0 MiB"), std::string_view::npos) << begun.message();
}

TEST_F(AllocatorReport, MemoryInfoIsWhatCouldBeAllocatedWithoutAMove) {
  start(small(32_MiB, 64_MiB));
  const MemoryInfo before = allocator_->memory_info(DeviceId()).value();
  EXPECT_EQ(before.free, 32_MiB);
  EXPECT_EQ(before.total, 256_MiB);
  const Address block = allocate(8_MiB);
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, 24_MiB);
  ASSERT_TRUE(allocator_->free(block, kNoStream).is_ok());
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, 32_MiB);
}

TEST_F(AllocatorReport, MemoryInfoIsTheSameBeforeAndAfterTheFirstBlock) {
  Options options = small(32_MiB, 64_MiB);
  options.device_memory.reset();
  start(options);
  const Bytes before = allocator_->memory_info(DeviceId()).value().free;
  EXPECT_EQ(before, 248_MiB) << "what is free but for what a context takes";
  EXPECT_EQ(allocator_->stats().totals.devices, 0u) << "to ask makes no heap";
  allocate(2_MiB);
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, before - 2_MiB);
  allocate(2_MiB);
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, before - 4_MiB);
}

TEST_F(AllocatorReport, MemoryInfoReflectsMemoryInUseElsewhere) {
  Options options = small(32_MiB, 64_MiB);
  options.device_memory.reset();
  start(options);
  const Address block = allocate(16_MiB);
  const Bytes before = allocator_->memory_info(DeviceId()).value().free;
  const FrameId frame = sim_->create_frame(DeviceId(), FrameLocation::kDevice, 2_MiB).value();
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, before - 2_MiB);
  const FrameId large = sim_->create_frame(DeviceId(), FrameLocation::kDevice, 100_MiB).value();
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, before - 102_MiB);
  ASSERT_TRUE(allocator_->free(block, kNoStream).is_ok());
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, before - 86_MiB) << "held, and free";
  ASSERT_TRUE(sim_->destroy_frame(frame).is_ok());
  ASSERT_TRUE(sim_->destroy_frame(large).is_ok());
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, before + 16_MiB);
}

TEST_F(AllocatorReport, MemoryBesideTheHeapIsWhatTheDriverHasAndWhatIsHeldFree) {
  start(small(32_MiB, 64_MiB));
  EXPECT_EQ(allocator_->memory_beside(DeviceId()).value().free, 256_MiB);
  const Address block = allocate(8_MiB);
  allocate(4_MiB);
  EXPECT_EQ(allocator_->memory_beside(DeviceId()).value().free, 244_MiB);
  ASSERT_TRUE(allocator_->free(block, kNoStream).is_ok());
  EXPECT_EQ(allocator_->memory_beside(DeviceId()).value().free, 252_MiB);
}

TEST_F(AllocatorReport, MemoryInfoOnRequestIsThatOfTheWholeHeap) {
  Options options = small(32_MiB, 64_MiB, 128_MiB);
  options.report_memory = "virtual";
  start(options);
  const Bytes heap = 32_MiB + 64_MiB + 128_MiB;
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().total, heap);
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, heap);
  for (int i = 0; i < 12; ++i) allocate(4_MiB);
  EXPECT_EQ(allocator_->memory_info(DeviceId()).value().free, heap - 48_MiB);
  // 16 MiB of them cannot be in their own device's memory.
  EXPECT_EQ(allocator_->memory_info(DeviceId(1)).value().free, heap - 16_MiB);
}

TEST_F(AllocatorReport, AnExposureCountsForItsFirstCallAndReportsItsOrigin) {
  Options options = small(32_MiB, 64_MiB);
  options.explain = true;
  start(options);
  const Address block = allocate(4_MiB);
  ASSERT_TRUE(allocator_->expose(block, "first").is_ok());
  ASSERT_TRUE(allocator_->expose(block, "second").is_ok());
  const StatsSnapshot stats = allocator_->stats();
  ASSERT_EQ(stats.exposures.size(), 1u);
  EXPECT_EQ(stats.exposures[0].reason, "first");
  EXPECT_NE(stats.exposures[0].first_call.find(" < "), std::string::npos);
}

TEST_F(AllocatorReport, TheManagedRangeHoldsEveryBlock) {
  start(small(32_MiB, 64_MiB));
  EXPECT_EQ(allocator_->managed_range().second, Address());
  for (std::uint64_t device = 0; device < 2; ++device) {
    EXPECT_TRUE(allocator_->manages(allocate(1_MiB, DeviceId(device))));
  }
}

// As large as a heap, where the second one would have been placed. The second one may then be below the first.
TEST_F(AllocatorReport, AddressesBetweenTwoHeapsAreNotManaged) {
  start(small(32_MiB, 64_MiB));
  const Address first = allocate(1_MiB);
  const auto [low, high] = allocator_->managed_range();
  const Bytes heap = high - low;
  const Address between = sim_->reserve(heap, kBasePage, high).value();
  const Address second = allocate(1_MiB, DeviceId(1));
  const auto range = allocator_->managed_range();
  ASSERT_GE(range.second - range.first, heap * 3) << "the heaps and what is between them";
  const Address behind_lower = range.first + heap;
  EXPECT_FALSE(allocator_->manages(behind_lower));
  EXPECT_FALSE(allocator_->manages(behind_lower + (heap - Bytes(1))));
  EXPECT_TRUE(allocator_->manages(first));
  EXPECT_TRUE(allocator_->manages(second));
  EXPECT_TRUE(sim_->release(between, heap).is_ok());
}

TEST_F(AllocatorReport, FinishWritesTheRequestedFiles) {
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
  ASSERT_TRUE(allocator_->mark("iteration", 1).is_ok());
  ASSERT_TRUE(allocator_->finish().is_ok());

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

// Calls back when the thread that armed it first reads it: a moment that is hard to hit by chance.
class CallingClock final : public Clock {
 public:
  void arm(std::function<void()> call) {
    by_ = std::this_thread::get_id();
    call_ = std::move(call);
    armed_.store(true);
  }
  Nanoseconds now() const override {
    if (armed_.load() && by_ == std::this_thread::get_id() && armed_.exchange(false)) call_();
    return steady_.now();
  }

 private:
  SteadyClock steady_;
  std::thread::id by_;
  std::function<void()> call_;
  mutable std::atomic<bool> armed_{false};
};

TEST_F(AllocatorReport, ATraceRecordsAFreeBeforeTheReuseOfTheAddress) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "tessera_order.jsonl";
  Options options = small(64_MiB, 64_MiB);
  options.trace = path.string();
  CallingClock clock;
  auto made = Allocator::create(std::make_unique<SimDriver>(SimOptions{.memory = 256_MiB}, clock_), options, clock);
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  allocator_ = made.take();
  const Address first = allocate(8_MiB);
  Address second;
  clock.arm([&] { second = allocate(8_MiB); });
  ASSERT_TRUE(allocator_->free(first, kNoStream).is_ok());
  ASSERT_NE(second, Address());
  EXPECT_FALSE(allocator_->free(second + 1_MiB, kNoStream).is_ok());
  ASSERT_TRUE(allocator_->finish().is_ok());

  std::ifstream trace(path);
  std::set<std::uint64_t> live;
  for (std::string line; std::getline(trace, line);) {
    const auto event = nlohmann::json::parse(line);
    const std::string kind = event.at("t");
    if (kind == "alloc") {
      EXPECT_TRUE(live.insert(event.at("id").get<std::uint64_t>()).second) << line;
    } else if (kind == "free") {
      EXPECT_EQ(live.erase(event.at("id").get<std::uint64_t>()), 1u) << line;
    }
  }
  EXPECT_EQ(live, std::set{second.value()});
  allocator_.reset();
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tessera
