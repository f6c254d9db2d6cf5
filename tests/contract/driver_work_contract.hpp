// The driver contract, second half: streams, events, copies, fills, launches, host memory, threads.
//
// Everything here holds on a GPU as well: checks that only the strict simulated device makes are in tests/unit/driver.
// Instantiated through driver_contract.hpp.
//
// Thread safety: a test suite.
#pragma once

#include <algorithm>
#include <array>
#include <thread>

#include "driver_fixture.hpp"

namespace tessera::contract {

template <class Machine>
class DriverWorkContract : public DriverFixture<Machine> {};

TYPED_TEST_SUITE_P(DriverWorkContract);

// ---- streams and events ------------------------------------------------------------------------

TYPED_TEST_P(DriverWorkContract, AStreamRunsItsWorkInOrder) {
  const StreamId stream = this->stream();
  const Address at = this->memory();
  std::uint32_t* const host = this->pinned(1024, 1);
  std::uint32_t* const back = this->pinned(1024, 0);
  ASSERT_STATUS_OK(this->driver().copy_in(at, host, this->words(1024), stream));
  ASSERT_STATUS_OK(this->churn(at, 1024, 2000, stream));
  ASSERT_STATUS_OK(this->driver().copy(at + this->words(1024), at, this->words(1024), stream));
  ASSERT_STATUS_OK(this->driver().fill(at, 0xff, this->words(1024), stream));
  ASSERT_STATUS_OK(this->churn(at + this->words(1024), 1024, 1, stream));
  ASSERT_STATUS_OK(this->driver().copy_out(back, at + this->words(1024), this->words(1024), stream));
  ASSERT_STATUS_OK(this->driver().synchronize(stream));
  EXPECT_EQ(back[0], churned(1, 2001));
  EXPECT_EQ(back[1023], churned(1, 2001));
  EXPECT_EQ(this->get(at, 1, stream).front(), 0xffffffffU);
}

TYPED_TEST_P(DriverWorkContract, AnEventOrdersWorkOfTwoStreams) {
  const StreamId first = this->stream();
  const StreamId second = this->stream();
  const EventId event = this->event();
  const Address at = this->memory();
  this->put(at, std::vector<std::uint32_t>(4096, 1));
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  std::uint32_t expected = 1;
  for (std::uint32_t round = 0; round < 20; ++round) {
    ASSERT_STATUS_OK(this->churn(at, 4096, 500, first));
    ASSERT_STATUS_OK(this->driver().record_event(event, first));
    ASSERT_STATUS_OK(this->driver().wait_event(second, event));
    ASSERT_STATUS_OK(this->driver().copy(at + this->page_ / 2, at, this->words(4096), second));
    ASSERT_STATUS_OK(this->driver().fill(at, 0, this->words(4096), second));
    ASSERT_STATUS_OK(this->driver().copy(at, at + this->page_ / 2, this->words(4096), second));
    ASSERT_STATUS_OK(this->driver().record_event(event, second));
    ASSERT_STATUS_OK(this->driver().wait_event(first, event));
    expected = churned(expected, 500);
  }
  EXPECT_EQ(this->get(at, 4096, first), std::vector<std::uint32_t>(4096, expected));
}

TYPED_TEST_P(DriverWorkContract, AnUnrecordedEventBlocksNothing) {
  const EventId event = this->event();
  EXPECT_STATUS_OK(this->driver().query(event));
  EXPECT_STATUS_OK(this->driver().synchronize(event));
  const StreamId stream = this->stream();
  EXPECT_STATUS_OK(this->driver().wait_event(stream, event));
  EXPECT_STATUS_OK(this->driver().synchronize(stream));
}

TYPED_TEST_P(DriverWorkContract, AnEventIsNotReadyUntilItsWorkHasRun) {
  const StreamId stream = this->stream();
  const EventId event = this->event();
  const Address at = this->memory();
  ASSERT_STATUS_OK(this->driver().fill(at, 1, this->words(4096), stream));
  // Long enough, on any machine, for the query to come first.
  ASSERT_STATUS_OK(this->churn(at, 4096, 100000, stream));
  ASSERT_STATUS_OK(this->driver().record_event(event, stream));
  const Status early = this->driver().query(event);
  EXPECT_TRUE(early.is_ok() || early.code() == Code::kNotReady) << text(early);
  EXPECT_STATUS_OK(this->driver().synchronize(event));
  EXPECT_STATUS_OK(this->driver().query(event));
}

TYPED_TEST_P(DriverWorkContract, AWaitWithABoundSeesTheEnd) {
  const EventId event = this->event();
  const StreamId stream = this->stream();
  EXPECT_STATUS_OK(this->driver().synchronize(event, Nanoseconds(1)));  // nothing was recorded
  ASSERT_STATUS_OK(this->driver().record_event(event, stream));
  EXPECT_STATUS_OK(this->driver().synchronize(event, Nanoseconds(60'000'000'000)));
  const Address at = this->memory();
  this->put(at, {1});
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  ASSERT_STATUS_OK(this->churn(at, 1, 1000, stream));
  ASSERT_STATUS_OK(this->driver().record_event(event, stream));
  EXPECT_STATUS_OK(this->driver().synchronize(this->kDevice, Nanoseconds(60'000'000'000)));
  EXPECT_STATUS_OK(this->driver().query(event));
}

TYPED_TEST_P(DriverWorkContract, RecordingAgainMovesTheEvent) {
  const StreamId stream = this->stream();
  const EventId event = this->event();
  const Address at = this->memory();
  ASSERT_STATUS_OK(this->driver().record_event(event, stream));
  this->put(at, {1});
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  ASSERT_STATUS_OK(this->churn(at, 1, 100000, stream));
  ASSERT_STATUS_OK(this->driver().record_event(event, stream));
  ASSERT_STATUS_OK(this->driver().synchronize(event));
  EXPECT_EQ(this->get(at, 1, this->stream()).front(), churned(1, 100000));
}

TYPED_TEST_P(DriverWorkContract, TimedEventsMeasureTheTimeBetweenThem) {
  const StreamId stream = this->stream();
  const Address at = this->memory();
  const auto start = this->driver().create_timed_event(this->kDevice);
  const auto end = this->driver().create_timed_event(this->kDevice);
  ASSERT_STATUS_OK(start.status());
  ASSERT_STATUS_OK(end.status());
  this->put(at, {1});
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  ASSERT_STATUS_OK(this->driver().record_event(start.value(), stream));
  ASSERT_STATUS_OK(this->churn(at, 1, 100000, stream));
  ASSERT_STATUS_OK(this->driver().record_event(end.value(), stream));
  ASSERT_STATUS_OK(this->driver().synchronize(end.value()));
  const auto forwards = this->driver().elapsed(start.value(), end.value());
  const auto backwards = this->driver().elapsed(end.value(), start.value());
  ASSERT_STATUS_OK(forwards.status());
  ASSERT_STATUS_OK(backwards.status());
  EXPECT_GT(forwards.value(), 0);
  EXPECT_EQ(backwards.value(), -forwards.value());
  // Times are often read by a thread of ours that has made no call on the device before.
  std::thread([&] {
    const auto elsewhere = this->driver().elapsed(start.value(), end.value());
    ASSERT_STATUS_OK(elsewhere.status());
    EXPECT_EQ(elsewhere.value(), forwards.value());
  }).join();
  EXPECT_STATUS_OK(this->driver().destroy_event(start.value()));
  EXPECT_STATUS_OK(this->driver().destroy_event(end.value()));
}

TYPED_TEST_P(DriverWorkContract, ADestroyedStreamFinishesItsWork) {
  const StreamId stream = this->stream();
  const Address at = this->memory();
  this->put(at, {1});
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  ASSERT_STATUS_OK(this->churn(at, 1, 100000, stream));
  ASSERT_STATUS_OK(this->driver().destroy_stream(stream));
  this->streams_.pop_back();
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  EXPECT_EQ(this->get(at, 1).front(), churned(1, 100000));
  if (TypeParam::kFindsDestroyedHandles) {
    EXPECT_EQ(this->driver().record_event(this->event(), stream).code(), Code::kNotFound);
  }
}

TYPED_TEST_P(DriverWorkContract, TheDefaultStreamsTakeWork) {
  const Address at = this->memory();
  for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{2}}) {
    this->put(at, {11}, StreamId(id));
    ASSERT_STATUS_OK(this->churn(at, 1, 3, StreamId(id)));
    EXPECT_EQ(this->get(at, 1, StreamId(id)).front(), churned(11, 3)) << id;
  }
}

// ---- work --------------------------------------------------------------------------------------

TYPED_TEST_P(DriverWorkContract, AFillSetsItsBytesAndNoOthers) {
  const Address at = this->memory();
  this->put(at, {1, 1, 1});
  ASSERT_STATUS_OK(this->driver().fill(at + Bytes(4), 0xab, Bytes(4), StreamId(0)));
  EXPECT_EQ(this->get(at, 3), (std::vector<std::uint32_t>{1, 0xabababab, 1}));
}

TYPED_TEST_P(DriverWorkContract, PageableHostMemoryMayBeReusedAtOnce) {
  const Address at = this->memory();
  std::vector<std::uint32_t> values(this->page_.value() / sizeof(std::uint32_t));
  for (std::uint32_t round = 0; round < 4; ++round) {
    std::ranges::fill(values, round);
    this->put(at, values, StreamId(0));
    std::ranges::fill(values, 0xeeeeeeeeU);
    EXPECT_EQ(this->get(at, values.size()), std::vector<std::uint32_t>(values.size(), round));
  }
}

TYPED_TEST_P(DriverWorkContract, CopiesAtOnceAllArriveInTheOrderOfTheStream) {
  const StreamId stream = this->stream();
  const Address at = this->memory();
  const Bytes part = this->words(1024);
  std::uint32_t* const there = this->pinned(3072, 0);
  std::uint32_t* const back = this->pinned(3072, 0);
  std::array<HostCopy, 3> in, out;
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::fill_n(there + 1024 * i, 1024, i + 1);
    in[i] = {at + part * i, there + 1024 * (2 - i), part};  // reversed
    out[i] = {at + part * i, back + 1024 * i, part};
  }
  const Status status = this->driver().copy_all(CopyWay::kIn, in, stream);
  if (status.code() == Code::kNotSupported) GTEST_SKIP() << status.to_string();
  ASSERT_STATUS_OK(status);
  ASSERT_STATUS_OK(this->churn(at, 3072, 7, stream));
  ASSERT_STATUS_OK(this->driver().copy_all(CopyWay::kOut, out, stream));
  ASSERT_STATUS_OK(this->driver().fill(at, 0, part * 3, stream));
  ASSERT_STATUS_OK(this->driver().synchronize(stream));
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(back[1024 * i + 5], churned(3 - i, 7));
}

TYPED_TEST_P(DriverWorkContract, HostMemoryIsRegisteredOnce) {
  std::uint32_t* const host = this->pinned(4096, 0);
  EXPECT_EQ(this->driver().register_host(host, Bytes(4096)).code(), Code::kDriver);
  std::uint32_t other = 0;
  EXPECT_EQ(this->driver().unregister_host(&other).code(), Code::kDriver);
}

TYPED_TEST_P(DriverWorkContract, AnyThreadMayMakeAnyCall) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t, &wrong] {
      Driver& driver = this->driver();
      const auto fails = [&wrong](const Status& status) { wrong += status.is_ok() ? 0 : 1; };
      const auto at = driver.reserve(this->page_, this->page_);
      const auto stream = driver.create_stream(this->kDevice);
      if (!at.is_ok() || !stream.is_ok()) return fails(Status(Code::kInternal, ""));
      for (std::uint32_t round = 0; round < 10; ++round) {
        const auto frame = driver.create_frame(this->kDevice, FrameLocation::kDevice, this->page_);
        if (!frame.is_ok()) return fails(frame.status());
        fails(driver.map(at.value(), this->page_, frame.value()));
        Status access = driver.set_access(at.value(), this->page_, this->kDevice);
        while (access.code() == Code::kNotReady) {
          access = driver.set_access(at.value(), this->page_, this->kDevice);
        }
        fails(access);
        const std::uint32_t start = t * 100 + round;
        std::uint32_t end = 0;
        fails(driver.copy_in(at.value(), &start, Bytes(4), stream.value()));
        fails(this->churn(at.value(), 1, 50, stream.value()));
        fails(driver.copy_out(&end, at.value(), Bytes(4), stream.value()));
        fails(driver.synchronize(stream.value()));
        if (end != churned(start, 50)) ++wrong;
        fails(driver.unmap(at.value(), this->page_));
        fails(driver.destroy_frame(frame.value()));
      }
      fails(driver.destroy_stream(stream.value()));
      fails(driver.release(at.value(), this->page_));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

REGISTER_TYPED_TEST_SUITE_P(DriverWorkContract, AStreamRunsItsWorkInOrder, AnEventOrdersWorkOfTwoStreams,
                            AnUnrecordedEventBlocksNothing, AnEventIsNotReadyUntilItsWorkHasRun,
                            AWaitWithABoundSeesTheEnd, RecordingAgainMovesTheEvent,
                            TimedEventsMeasureTheTimeBetweenThem, ADestroyedStreamFinishesItsWork,
                            TheDefaultStreamsTakeWork, AFillSetsItsBytesAndNoOthers,
                            PageableHostMemoryMayBeReusedAtOnce, CopiesAtOnceAllArriveInTheOrderOfTheStream,
                            HostMemoryIsRegisteredOnce, AnyThreadMayMakeAnyCall);

}  // namespace tessera::contract
