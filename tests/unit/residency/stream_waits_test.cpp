#include "residency/streams/stream_waits.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <list>
#include <thread>

#include "held_kernel.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

constexpr Nanoseconds kShort(10'000'000);

class StreamWaitsTest : public testing::Test {
 protected:
  ~StreamWaitsTest() override {
    let_go();
    waits_.reset();
    table_.reset();
    for (StreamId stream : streams_) EXPECT_TRUE(driver().destroy_stream(stream).is_ok());
    machine_.finish();
  }

  SimDriver& driver() { return machine_.driver(); }
  StreamId stream() { return streams_.emplace_back(driver().create_stream(DeviceId(0)).take()); }
  std::uint64_t use(StreamId stream, Epoch epoch) {
    table_->close(epoch);
    const std::uint32_t slot = table_->slot_of(stream);
    table_->note_use(slot, epoch);
    return std::uint64_t{1} << slot;
  }
  // A use that lasts until let_go(); returns its bit.
  std::uint64_t held_use(StreamId stream, Epoch epoch) {
    const std::uint64_t bit = use(stream, epoch);
    EXPECT_TRUE(kernels_.emplace_back().launch(driver(), stream).is_ok());
    return bit;
  }
  void let_go() {
    for (HeldKernel& kernel : kernels_) kernel.let_go();
    EXPECT_TRUE(driver().synchronize(DeviceId(0)).is_ok());
  }
  Code wait(std::uint64_t mask, Epoch epoch, StreamWaits::Bound bound) {
    EXPECT_TRUE(table_->fence(mask, epoch).is_ok());
    return waits_->wait(mask, epoch, bound).code();
  }

  SimMachine machine_;
  std::list<HeldKernel> kernels_;
  std::vector<StreamId> streams_;
  std::unique_ptr<StreamTable> table_ = std::make_unique<StreamTable>(driver(), DeviceId(0), kShort);
  std::unique_ptr<StreamWaits> waits_ = std::make_unique<StreamWaits>(driver(), DeviceId(0), *table_, kShort);
};

using enum StreamWaits::Bound;

TEST_F(StreamWaitsTest, AWaitEndsAfterItsTimeoutAndTheNextAtOnce) {
  const std::uint64_t bit = held_use(stream(), Epoch(1));
  EXPECT_EQ(waits_->stuck(), 0U);
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  EXPECT_EQ(waits_->stuck(), bit);
  const std::uint64_t waits = 100;  // if each waited that long again, this would show
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < waits; ++i) EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds((kShort * waits).value()));
  let_go();
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kOk);
  EXPECT_EQ(waits_->stuck(), 0U);
}

TEST_F(StreamWaitsTest, TheWholeWaitHasABoundToo) {
  const std::uint64_t bit = held_use(stream(), Epoch(1));
  EXPECT_EQ(wait(bit, Epoch(1), kWhole), Code::kNotReady);
  EXPECT_FALSE(waits_->await_news(bit).value());
}

TEST_F(StreamWaitsTest, CompletionsFromOtherThreadsAreSeen) {
  const std::uint64_t bit = held_use(stream(), Epoch(1));
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  std::jthread other([this] { kernels_.front().let_go(); });
  EXPECT_TRUE(waits_->await_news(bit).value());
  EXPECT_EQ(wait(bit, Epoch(1), kWhole), Code::kOk);
}

// For such work there is no event: the device is waited for.
TEST_F(StreamWaitsTest, AWaitForTheDeviceHasABoundToo) {
  const StreamId on = stream();
  const std::uint64_t bit = use(kNoStream, Epoch(1));
  EXPECT_TRUE(kernels_.emplace_back().launch(driver(), on).is_ok());
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  EXPECT_EQ(waits_->stuck(), bit);
  EXPECT_EQ(wait(bit, Epoch(1), kWhole), Code::kNotReady);
  EXPECT_FALSE(waits_->await_news(bit).value());
  let_go();
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kOk);
  EXPECT_EQ(waits_->stuck(), 0U);
}

TEST_F(StreamWaitsTest, WorkOnAStreamThatHasGoneIsWaitedForWithABound) {
  const StreamId on = stream();
  const std::uint64_t bit = held_use(on, Epoch(1));
  streams_.clear();
  ASSERT_TRUE(driver().destroy_stream(on).is_ok());
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  let_go();
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kOk);
}

TEST_F(StreamWaitsTest, BehindAWaitingKernelTheWaitIsBoundedByItsAllowance) {
  const std::uint64_t bit = held_use(stream(), Epoch(5));
  ASSERT_TRUE(table_->fence(bit, Epoch(5)).is_ok());
  waits_->note_waiter(static_cast<std::uint32_t>(std::countr_zero(bit)), Epoch(5), Nanoseconds());
  EXPECT_EQ(waits_->stuck(), bit);
  EXPECT_EQ(waits_->wait(bit, Epoch(5), kPatience).code(), Code::kNotReady);
  let_go();
  EXPECT_EQ(waits_->wait(bit, Epoch(5), kPatience).code(), Code::kOk);
  EXPECT_EQ(held_use(streams_.front(), Epoch(6)), bit);
  EXPECT_EQ(waits_->stuck(), 0U) << "another kernel is not meant";
}

// For a device with streams that accept this many operations.
class FullStreams : public testing::Test {
 protected:
  static constexpr std::size_t kDepth = 256;

  SimOptions options() {
    SimOptions made;
    made.queue_depth = kDepth;
    return made;
  }
  SteadyClock clock_;
  SimDriver driver_{options(), clock_};
  HeldKernel kernel_;
};

TEST_F(FullStreams, NoFenceIsRecordedWhereTheCallWouldWait) {
  const StreamId stream = driver_.create_stream(DeviceId(0)).take();
  {
    StreamTable table(driver_, DeviceId(0), kShort, kDepth);
    StreamWaits waits(driver_, DeviceId(0), table, kShort);
    const std::uint32_t slot = table.slot_of(stream);
    ASSERT_TRUE(kernel_.launch(driver_, stream).is_ok());
    for (std::uint64_t epoch = 1; epoch <= kDepth; ++epoch) {
      table.close(Epoch(epoch));
      table.note_use(slot, Epoch(epoch));
      if (epoch > 1) {
        ASSERT_TRUE(driver_.occupy(stream, Nanoseconds(), {}).is_ok());
      }
    }
    const std::uint64_t bit = std::uint64_t{1} << slot;
    ASSERT_TRUE(table.fence(bit, Epoch(kDepth)).is_ok()) << "and it returns";
    EXPECT_EQ(waits.wait(bit, Epoch(kDepth), kPatience).code(), Code::kNotReady);
    EXPECT_EQ(table.make_wait(stream, bit, Epoch(kDepth)).code(), Code::kBusy);
    kernel_.let_go();
    EXPECT_TRUE(waits.wait(bit, Epoch(kDepth)).is_ok()) << "the stream itself is asked";
    EXPECT_TRUE(table.passed(bit, Epoch(kDepth)));
  }
  EXPECT_TRUE(driver_.destroy_stream(stream).is_ok());
}

}  // namespace
}  // namespace tessera
