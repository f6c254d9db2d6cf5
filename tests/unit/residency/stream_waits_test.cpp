// Bounded waits, and information from the program's own waits.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <list>
#include <thread>

#include "held_kernel.hpp"
#include "residency/streams/stream_table.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

constexpr Nanoseconds kShort(10'000'000);

class StreamWaits : public testing::Test {
 protected:
  ~StreamWaits() override {
    let_go();
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
  Code wait(std::uint64_t mask, Epoch epoch, StreamTable::Bound bound) {
    EXPECT_TRUE(table_->fence(mask, epoch).is_ok());
    return table_->wait(mask, epoch, bound).code();
  }

  SimMachine machine_;
  std::list<HeldKernel> kernels_;
  std::vector<StreamId> streams_;
  std::unique_ptr<StreamTable> table_ = std::make_unique<StreamTable>(driver(), DeviceId(0), kShort);
};

using enum StreamTable::Bound;

TEST_F(StreamWaits, AWaitEndsAfterItsTimeoutAndTheNextAtOnce) {
  const std::uint64_t bit = held_use(stream(), Epoch(1));
  EXPECT_EQ(table_->stuck(), 0U);
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  EXPECT_EQ(table_->stuck(), bit);
  const std::uint64_t waits = 100;  // if each waited that long again, this would show
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < waits; ++i) EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds((kShort * waits).value()));
  let_go();
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kOk);
  EXPECT_EQ(table_->stuck(), 0U);
}

TEST_F(StreamWaits, TheWholeWaitHasABoundToo) {
  const std::uint64_t bit = held_use(stream(), Epoch(1));
  EXPECT_EQ(wait(bit, Epoch(1), kWhole), Code::kNotReady);
  EXPECT_FALSE(table_->await_news(bit).value());
}

TEST_F(StreamWaits, CompletionsFromOtherThreadsAreSeen) {
  const std::uint64_t bit = held_use(stream(), Epoch(1));
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  std::jthread other([this] { kernels_.front().let_go(); });
  EXPECT_TRUE(table_->await_news(bit).value());
  EXPECT_EQ(wait(bit, Epoch(1), kWhole), Code::kOk);
}

TEST_F(StreamWaits, WorkTheProgramWaitedForIsOverBeforeItsFence) {
  const StreamId one = stream(), two = stream();
  const std::uint64_t first = use(one, Epoch(1));
  held_use(one, Epoch(2));
  const std::uint64_t second = held_use(two, Epoch(3));
  ASSERT_TRUE(table_->fence(first | second, Epoch(3)).is_ok());
  EXPECT_FALSE(table_->passed(first, Epoch(1)));
  table_->note_over(one, Epoch(1));
  EXPECT_TRUE(table_->passed(first, Epoch(1)));
  EXPECT_FALSE(table_->passed(first, Epoch(2)));
  EXPECT_FALSE(table_->passed(second, Epoch(3)));
  table_->note_all_over(Epoch(3));
  EXPECT_TRUE(table_->passed(first | second, Epoch(3)));
}

TEST_F(StreamWaits, WorkOfNoStreamIsNotOverWithTheOthers) {
  const std::uint64_t bit = use(kNoStream, Epoch(1));
  table_->note_all_over(Epoch(1));
  EXPECT_FALSE(table_->passed(bit, Epoch(1)));
}

// For such work there is no event: the device is waited for.
TEST_F(StreamWaits, AWaitForTheDeviceHasABoundToo) {
  const StreamId on = stream();
  const std::uint64_t bit = use(kNoStream, Epoch(1));
  EXPECT_TRUE(kernels_.emplace_back().launch(driver(), on).is_ok());
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  EXPECT_EQ(table_->stuck(), bit);
  EXPECT_EQ(wait(bit, Epoch(1), kWhole), Code::kNotReady);
  EXPECT_FALSE(table_->await_news(bit).value());
  let_go();
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kOk);
  EXPECT_EQ(table_->stuck(), 0U);
}

TEST_F(StreamWaits, WorkOnAStreamThatHasGoneIsWaitedForWithABound) {
  const StreamId on = stream();
  const std::uint64_t bit = held_use(on, Epoch(1));
  streams_.clear();
  ASSERT_TRUE(driver().destroy_stream(on).is_ok());
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kNotReady);
  let_go();
  EXPECT_EQ(wait(bit, Epoch(1), kPatience), Code::kOk);
}

TEST_F(StreamWaits, BehindAWaitingKernelTheWaitIsBoundedByItsAllowance) {
  const std::uint64_t bit = held_use(stream(), Epoch(5));
  ASSERT_TRUE(table_->fence(bit, Epoch(5)).is_ok());
  table_->note_waiter(static_cast<std::uint32_t>(std::countr_zero(bit)), Epoch(5), Nanoseconds());
  EXPECT_EQ(table_->stuck(), bit);
  EXPECT_EQ(table_->wait(bit, Epoch(5), kPatience).code(), Code::kNotReady);
  let_go();
  EXPECT_EQ(table_->wait(bit, Epoch(5), kPatience).code(), Code::kOk);
  EXPECT_EQ(held_use(streams_.front(), Epoch(6)), bit);
  EXPECT_EQ(table_->stuck(), 0U) << "another kernel is not meant";
}

TEST_F(StreamWaits, AMarkSeparatesLaterWork) {
  const StreamId on = stream();
  const std::uint64_t bit = use(on, Epoch(1));
  const auto slot = static_cast<std::uint32_t>(std::countr_zero(bit));
  EXPECT_FALSE(table_->reach_of_next(slot));
  ASSERT_TRUE(table_->mark(slot, Epoch(1)).is_ok());
  held_use(on, Epoch(2));
  use(on, Epoch(3));
  ASSERT_TRUE(table_->fence(bit, Epoch(3)).is_ok());
  while (!table_->passed(bit, Epoch(1))) ASSERT_TRUE(table_->poll().is_ok());
  ASSERT_TRUE(table_->reach_of_next(slot));
  EXPECT_EQ(table_->reach_of_next(slot)->after, Epoch(1));
  EXPECT_EQ(table_->reach_of_next(slot)->until, Epoch(3));
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
    EXPECT_EQ(table.wait(bit, Epoch(kDepth), kPatience).code(), Code::kNotReady);
    EXPECT_EQ(table.make_wait(stream, bit, Epoch(kDepth)).code(), Code::kBusy);
    kernel_.let_go();
    EXPECT_TRUE(table.wait(bit, Epoch(kDepth)).is_ok()) << "the stream itself is asked";
    EXPECT_TRUE(table.passed(bit, Epoch(kDepth)));
  }
  EXPECT_TRUE(driver_.destroy_stream(stream).is_ok());
}

}  // namespace
}  // namespace tessera
