// The complete allocator in virtual time, so that a kernel takes exactly its given time.
#include "api/op_times.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "api/allocator.hpp"
#include "base/virtual_clock.hpp"
#include "lab/replay/trace_reader.hpp"
#include "residency_fixture.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

class OpTimesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Machine machine{.device = 64_MiB, .out_rate = 1e9, .in_rate = 1e9};
    auto driver = std::make_unique<SimDriver>(sim_options(machine), clock_);
    driver_ = driver.get();
    Options options;
    options.device_memory = 16_MiB;
    options.host_memory = 128_MiB;
    options.log_level = "quiet";
    options.trace = path_;
    Foundations foundations{clock_, std::move(driver), sim_file(clock_, machine), pages_, false};
    allocator_ = Allocator::create(std::move(foundations), options).take();
    stream_ = driver_->create_stream(DeviceId()).take();
  }
  void TearDown() override { EXPECT_OK(driver_->destroy_stream(stream_)); }

  void launch(Address block, const char* name, Nanoseconds time) {
    AnnouncedUse use;
    ASSERT_OK(allocator_->uses().begin({&block, 1}, stream_, Access::kWrite, Use::Kind::kGate, name, use));
    EXPECT_OK(driver_->occupy(stream_, time, {}));
    allocator_->uses().end(use);
  }
  std::vector<std::uint64_t> recorded() {
    EXPECT_OK(driver_->synchronize(stream_));
    EXPECT_OK(allocator_->reports().finish());
    const auto trace = read_trace(path_);
    EXPECT_TRUE(trace.is_ok()) << trace.status().to_string();
    std::vector<std::uint64_t> times;
    if (trace.is_ok()) {
      for (const TraceOp& op : trace.value().ops) times.push_back(op.time.value());
    }
    return times;
  }

  const std::string path_ =
      ::testing::TempDir() + "op_times_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
  VirtualClock clock_;
  NoHostPages pages_;
  SimDriver* driver_ = nullptr;
  std::unique_ptr<Allocator> allocator_;
  StreamId stream_;
};

TEST_F(OpTimesTest, TheTraceHasTheTimesOfTheKernels) {
  const Address block = allocator_->allocate(DeviceId(), 2_MiB, stream_).take();
  launch(block, "gemm", Nanoseconds(3000));
  launch(block, "norm", Nanoseconds(500));
  launch(block, "gemm", Nanoseconds(3000));
  EXPECT_EQ(recorded(), (std::vector<std::uint64_t>{3000, 500, 3000}));
}

TEST_F(OpTimesTest, ExcludesTheWaitsOfAKernel) {
  const Address first = allocator_->allocate(DeviceId(), 12_MiB, stream_).take();
  const Address second = allocator_->allocate(DeviceId(), 12_MiB, stream_).take();
  for (int i = 0; i < 3; ++i) {
    launch(first, "gemm", Nanoseconds(3000));
    launch(second, "gemm", Nanoseconds(3000));  // each fetches its block, which takes 12 ms
  }
  EXPECT_EQ(recorded(), std::vector<std::uint64_t>(6, 3000));
  EXPECT_GT(allocator_->stats().snapshot().totals.bytes_in, 0U);
}

TEST_F(OpTimesTest, TimesASampleOfAKindAndReusesItsDuration) {
  const Address block = allocator_->allocate(DeviceId(), 2_MiB, stream_).take();
  const std::size_t launches = 10 * OpTimes::kOneIn;
  for (std::size_t i = 0; i < launches; ++i) launch(block, "gemm", Nanoseconds(3000));
  EXPECT_EQ(recorded(), std::vector<std::uint64_t>(launches, 3000));
  std::ifstream file(path_);
  std::size_t timed = 0;
  for (std::string line; std::getline(file, line);) timed += line.find(R"("t":"time")") != line.npos ? 1U : 0U;
  EXPECT_EQ(timed, OpTimes::kFirstOnes + 9);
}

TEST_F(OpTimesTest, AnUnfinishedLaunchHasTheTimeOfItsKind) {
  const Address block = allocator_->allocate(DeviceId(), 2_MiB, stream_).take();
  launch(block, "gemm", Nanoseconds(3000));
  ASSERT_OK(driver_->synchronize(stream_));
  launch(block, "gemm", Nanoseconds(3000));
  EXPECT_OK(allocator_->reports().finish());
  const auto trace = read_trace(path_);
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  EXPECT_EQ(trace.value().ops.back().time, Nanoseconds(3000));
}

}  // namespace
}  // namespace tessera
