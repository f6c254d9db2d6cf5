// Which thread registers host memory: pinning blocks the whole driver, so no call of the program's does it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "allocator_machine.hpp"
#include "sim/trace_driver.hpp"

namespace tessera {
namespace {

class PinningTest : public AllocatorMachine {
 protected:
  void start_traced(const Options& options) {
    device_ = std::make_unique<SimDriver>(SimOptions{.memory = 256_MiB, .pinning = {10'000'000'000, {}}}, clock_);
    sim_ = device_.get();
    auto trace = std::make_unique<TraceDriver>(*device_, 1 << 16);
    trace_ = trace.get();
    auto made = Allocator::create(std::move(trace), options, clock_);
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    allocator_ = made.take();
  }
  void TearDown() override {
    AllocatorMachine::TearDown();
    allocator_.reset();
  }
  static std::size_t pins_in(const std::vector<DriverRecord>& records) {
    return static_cast<std::size_t>(std::ranges::count_if(records, [](const DriverRecord& record) {
      return record.call == DriverCall::kRegisterHost || record.call == DriverCall::kUnregisterHost;
    }));
  }
  // Uses twice more than the device holds, so that everything is evicted and fetched.
  void use_much(std::uint32_t blocks, Bytes each) {
    std::vector<Address> all;
    for (std::uint32_t i = 0; i < blocks; ++i) {
      all.push_back(allocate(each));
      write(all.back(), i, each);
    }
    for (std::uint32_t i = 0; i < blocks; ++i) EXPECT_TRUE(holds(all[i], i, each)) << i;
    for (const Address block : all) EXPECT_TRUE(allocator_->free(block, kNoStream).is_ok());
  }

  std::unique_ptr<SimDriver> device_;
  TraceDriver* trace_ = nullptr;
};

TEST_F(PinningTest, NoCallOfTheProgramPinsWhileTheHostTierGrows) {
  start_traced(small(64_MiB, 512_MiB));
  allocate(2_MiB);
  trace_->clear();
  use_much(8, 32_MiB);
  EXPECT_EQ(pins_in(trace_->records_of(std::this_thread::get_id())), 0U);
  EXPECT_GE(pins_in(trace_->records()), 3U) << "192 MiB had to leave";
  for (const DriverRecord& record : trace_->records()) {
    if (record.call != DriverCall::kRegisterHost) continue;
    EXPECT_LE(record.operands[1], Bytes(64_MiB).value());
  }
}

TEST_F(PinningTest, NoCallOfTheProgramPinsWhilePagesAreStaged) {
  start_traced(small(64_MiB, 16_MiB, 512_MiB));
  allocate(2_MiB);
  trace_->clear();
  use_much(5, 32_MiB);
  EXPECT_EQ(pins_in(trace_->records_of(std::this_thread::get_id())), 0U);
  EXPECT_GE(pins_in(trace_->records()), 3U) << "the budget, and 64 MiB of staging in two pieces";
}

TEST_F(PinningTest, NoCallOfTheProgramPinsHostBackedMemory) {
  Options options = small(64_MiB, 512_MiB);
  options.file_dir.clear();
  options.unhinted_access = "host-backed";
  start_traced(options);
  allocate(2_MiB);
  trace_->clear();
  use_much(8, 32_MiB);
  const auto made = [](const std::vector<DriverRecord>& records) {
    return std::ranges::count_if(records, [](const DriverRecord& record) {
      return record.call == DriverCall::kCreateFrame &&
             record.operands[1] == static_cast<std::uint64_t>(FrameLocation::kHost);
    });
  };
  EXPECT_EQ(made(trace_->records_of(std::this_thread::get_id())), 0);
  EXPECT_GE(made(trace_->records()), 6) << "192 MiB had to leave";
}

}  // namespace
}  // namespace tessera
