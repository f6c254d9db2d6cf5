// The work in a recording: the blocks that it uses, by whatever interior addresses.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

class TraceRecorderTest : public AllocatorMachine {
 protected:
  std::vector<nlohmann::json> operations() {
    EXPECT_TRUE(allocator_->reports().finish().is_ok());
    std::vector<nlohmann::json> found;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      auto parsed = nlohmann::json::parse(line);
      if (parsed["t"] == "op") found.push_back(std::move(parsed));
    }
    return found;
  }
  void launch(const std::vector<Address>& addresses, Access access) {
    AnnouncedUse use;
    EXPECT_TRUE(allocator_->uses().begin(addresses, StreamId(), access, Use::Kind::kGate, "gemm", use).is_ok());
    allocator_->uses().end(use);
  }

  const std::string path_ = ::testing::TempDir() + "allocator_trace.jsonl";
};

TEST_F(TraceRecorderTest, AnOperationNamesBlocksAndNothingElse) {
  Options options = small(32_MiB, 32_MiB);
  options.trace = path_;
  start(options);
  const Address first = allocate(3_MiB), second = allocate(1_MiB);
  launch({first + 1_MiB, second, Address(64)}, Access::kRead);
  launch({second + 7_B}, Access::kWrite);
  const auto found = operations();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["name"], "gemm");
  EXPECT_EQ(found[0]["r"], (std::vector<std::uint64_t>{first.value(), second.value()}));
  EXPECT_TRUE(found[0]["w"].empty());
  EXPECT_EQ(found[1]["r"], std::vector<std::uint64_t>{second.value()});
  EXPECT_EQ(found[1]["w"], found[1]["r"]);
}

TEST_F(TraceRecorderTest, AnAddressInAReservationNamesWhatIsMappedThere) {
  Options options = small(16_MiB, 64_MiB);
  options.trace = path_;
  start(options);
  const Address at = allocator_->mappable().reserve(DeviceId(), 64_MiB).value();
  const auto map = [&](Address to) {
    ASSERT_EQ(allocator_->mappable().move(allocator_->mappable().create(DeviceId(), 4_MiB).value(), to).value(), to);
  };
  map(at);
  map(at + 4_MiB);
  launch({at + 1_MiB, at + 5_MiB}, Access::kWrite);
  AnnouncedUse use;
  const AddressRange range{at + 5_MiB, 1_MiB};
  ASSERT_TRUE(
      allocator_->uses().begin(std::span(&range, 1), StreamId(), Access::kRead, Use::Kind::kGate, "copy", use).is_ok());
  allocator_->uses().end(use);
  for (std::uint64_t i = 2; i < 6; ++i) map(at + 4_MiB * i);
  launch({at + 1_MiB}, Access::kWrite);
  const auto found = operations();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0]["r"], (std::vector<std::uint64_t>{at.value(), (at + 4_MiB).value()}));
  EXPECT_EQ(found[1]["r"], std::vector<std::uint64_t>{(at + 4_MiB).value()});
  EXPECT_EQ(found[2]["r"], std::vector<std::uint64_t>{at.value()}) << "all of them do not fit";
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_TRUE(allocator_->mappable().destroy(at + 4_MiB * i).is_ok());
  EXPECT_TRUE(allocator_->mappable().unreserve(at).is_ok());
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

TEST_F(TraceRecorderTest, ATraceRecordsAFreeBeforeTheReuseOfTheAddress) {
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
  ASSERT_TRUE(allocator_->reports().finish().is_ok());

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
