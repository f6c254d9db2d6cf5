// One suite for every Driver: each rule and call of driver/driver.hpp, and nothing beyond it.
//
// Join it with INSTANTIATE_TYPED_TEST_SUITE_P(Name, DriverContract, Machine); what a Machine has is
// said in driver_fixture.hpp. Everything here holds on a GPU as well: what only the strict simulated
// device refuses is in tests/unit/driver.
//
// Thread safety: a test suite.
#pragma once

#include "driver_fixture.hpp"

namespace tessera::contract {

TYPED_TEST_SUITE_P(DriverContract);

// ---- devices -----------------------------------------------------------------------------------

TYPED_TEST_P(DriverContract, ADeviceSaysWhatItIs) {
  ASSERT_GE(this->driver().device_count(), 1);
  EXPECT_FALSE(this->properties_.name.empty());
  EXPECT_GE(this->properties_.total_memory, this->page_ * 8);
  EXPECT_EQ(this->page_.value() & (this->page_.value() - 1), 0U);
}

TYPED_TEST_P(DriverContract, AnUnknownDeviceIsAnInvalidArgument) {
  const DeviceId none(static_cast<std::uint64_t>(this->driver().device_count()));
  EXPECT_EQ(this->driver().properties(none).status().code(), Code::kInvalidArgument);
}

TYPED_TEST_P(DriverContract, AFrameTakesItsBytesFromTheFreeMemory) {
  const auto before = this->driver().memory_info(this->kDevice);
  this->frame(2);
  const auto after = this->driver().memory_info(this->kDevice);
  ASSERT_TRUE(before.is_ok() && after.is_ok());
  EXPECT_EQ(before.value().total, after.value().total);
  EXPECT_LE(after.value().free + this->page_ * 2, before.value().free);
}

// ---- addresses and frames ----------------------------------------------------------------------

TYPED_TEST_P(DriverContract, AReservedRangeIsAligned) {
  const Bytes alignment = this->page_ * 16;
  EXPECT_EQ(this->range(3, alignment).value() % alignment.value(), 0U);
}

TYPED_TEST_P(DriverContract, WrongSizesAndAlignmentsAreRefused) {
  Driver& driver = this->driver();
  const Address at = this->range(4);
  const FrameId frame = this->frame(2);
  EXPECT_FALSE(driver.reserve(this->page_ + Bytes(1), this->page_).is_ok());
  EXPECT_FALSE(driver.create_frame(this->kDevice, FrameLocation::kDevice, Bytes(1)).is_ok());
  EXPECT_FALSE(driver.map(at + Bytes(4096), this->page_ * 2, frame).is_ok());
  EXPECT_EQ(driver.map(at, this->page_, frame).code(), Code::kDriver) << "not the frame's size";
}

TYPED_TEST_P(DriverContract, MoreThanTheMemoryIsOutOfMemory) {
  const auto info = this->driver().memory_info(this->kDevice);
  ASSERT_TRUE(info.is_ok());
  const Bytes more = round_up(info.value().total, this->page_) + this->page_;
  const auto frame = this->driver().create_frame(this->kDevice, FrameLocation::kDevice, more);
  EXPECT_EQ(frame.status().code(), Code::kOutOfMemory);
}

TYPED_TEST_P(DriverContract, AMappingWithoutAccessCannotBeCopiedTo) {
  const Address at = this->range(1);
  this->map(at, this->frame());
  const std::uint32_t value = 1;
  EXPECT_FALSE(this->driver().copy_in(at, &value, Bytes(4), StreamId(0)).is_ok());
}

TYPED_TEST_P(DriverContract, AFrameKeepsItsBytesWhileItIsNotMapped) {
  const Address at = this->memory();
  this->put(at, {1, 2, 3});
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  this->unmap(at);
  const FrameId other = this->frame();
  this->map(at, other);
  this->allow(at);
  this->put(at, {7, 8, 9});
  EXPECT_EQ(this->get(at, 3), (std::vector<std::uint32_t>{7, 8, 9}));
  this->unmap(at);
  this->map(at, this->frames_.front());
  this->allow(at);
  EXPECT_EQ(this->get(at, 3), (std::vector<std::uint32_t>{1, 2, 3}));
}

TYPED_TEST_P(DriverContract, AFrameMovesToAnotherAddressWithItsBytes) {
  const Address from = this->memory();
  const Address to = this->range(1);
  this->put(from, {5, 6});
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  this->unmap(from);
  this->map(to, this->frames_.front());
  this->allow(to);
  EXPECT_EQ(this->get(to, 2), (std::vector<std::uint32_t>{5, 6}));
}

TYPED_TEST_P(DriverContract, OneSetAccessCoversManyMappings) {
  constexpr std::uint64_t kPages = 8;
  const Address at = this->range(kPages);
  for (std::uint64_t page = 0; page < kPages; ++page) this->map(at + this->page_ * page, this->frame());
  this->allow(at, kPages);
  const std::size_t per_page = this->page_.value() / sizeof(std::uint32_t);
  std::vector<std::uint32_t> values(per_page * kPages);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * 7);
  this->put(at, values);
  EXPECT_EQ(this->get(at, values.size()), values);
  this->unmap(at, kPages);
}

TYPED_TEST_P(DriverContract, ADestroyedFrameLivesAsLongAsItsMapping) {
  const Address at = this->memory();
  this->put(at, {42});
  ASSERT_STATUS_OK(this->driver().destroy_frame(this->frames_.back()));
  this->frames_.pop_back();
  EXPECT_EQ(this->get(at, 1).front(), 42U);
}

TYPED_TEST_P(DriverContract, TheMemoryOfAFrameComesBack) {
  const auto before = this->driver().memory_info(this->kDevice);
  ASSERT_TRUE(before.is_ok());
  for (int round = 0; round < 50; ++round) {
    const auto frame =
        this->driver().create_frame(this->kDevice, FrameLocation::kDevice, this->page_ * 4);
    ASSERT_TRUE(frame.is_ok()) << round << ": " << text(frame.status());
    ASSERT_STATUS_OK(this->driver().destroy_frame(frame.value()));
  }
  EXPECT_EQ(this->driver().memory_info(this->kDevice).value().free, before.value().free);
}

TYPED_TEST_P(DriverContract, AHostFrameServesAtADeviceAddressWithoutDeviceMemory) {
  if (!this->properties_.host_frames) {
    const auto none = this->driver().create_frame(this->kDevice, FrameLocation::kHost, this->page_);
    EXPECT_EQ(none.status().code(), Code::kNotSupported);
    GTEST_SKIP() << "no host frames on this machine";
  }
  const Address at = this->memory();
  this->put(at, {3, 4});
  const auto before = this->driver().memory_info(this->kDevice);
  const Address cold = this->range(1);
  this->map(cold, this->frame(1, FrameLocation::kHost));
  this->allow(cold);
  EXPECT_EQ(this->driver().memory_info(this->kDevice).value().free, before.value().free);
  ASSERT_STATUS_OK(this->driver().copy(cold, at, Bytes(8), StreamId(0)));
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  this->unmap(at);
  this->unmap(cold);
  this->map(at, this->frames_.back());
  this->allow(at);
  ASSERT_STATUS_OK(this->churn(at, 2, 1, StreamId(0)));
  EXPECT_EQ(this->get(at, 2), (std::vector<std::uint32_t>{churned(3, 1), churned(4, 1)}));
}

// ---- streams and events ------------------------------------------------------------------------

TYPED_TEST_P(DriverContract, AStreamRunsItsWorkInOrder) {
  const StreamId stream = this->stream();
  const Address at = this->memory();
  std::uint32_t* const host = this->pinned(1024, 1);
  std::uint32_t* const back = this->pinned(1024, 0);
  ASSERT_STATUS_OK(this->driver().copy_in(at, host, this->words(1024), stream));
  ASSERT_STATUS_OK(this->churn(at, 1024, 2000, stream));
  ASSERT_STATUS_OK(this->driver().copy(at + this->words(1024), at, this->words(1024), stream));
  ASSERT_STATUS_OK(this->driver().fill(at, 0xff, this->words(1024), stream));
  ASSERT_STATUS_OK(this->churn(at + this->words(1024), 1024, 1, stream));
  ASSERT_STATUS_OK(
      this->driver().copy_out(back, at + this->words(1024), this->words(1024), stream));
  ASSERT_STATUS_OK(this->driver().synchronize(stream));
  EXPECT_EQ(back[0], churned(1, 2001));
  EXPECT_EQ(back[1023], churned(1, 2001));
  EXPECT_EQ(this->get(at, 1, stream).front(), 0xffffffffU);
}

TYPED_TEST_P(DriverContract, AnEventOrdersWorkOfTwoStreams) {
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

TYPED_TEST_P(DriverContract, AnEventThatWasNeverRecordedHoldsNobody) {
  const EventId event = this->event();
  EXPECT_STATUS_OK(this->driver().query(event));
  EXPECT_STATUS_OK(this->driver().synchronize(event));
  const StreamId stream = this->stream();
  EXPECT_STATUS_OK(this->driver().wait_event(stream, event));
  EXPECT_STATUS_OK(this->driver().synchronize(stream));
}

TYPED_TEST_P(DriverContract, AnEventIsNotReadyUntilItsWorkHasRun) {
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

TYPED_TEST_P(DriverContract, RecordingAgainMovesTheEvent) {
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

TYPED_TEST_P(DriverContract, ADestroyedStreamFinishesItsWork) {
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

TYPED_TEST_P(DriverContract, TheDefaultStreamsTakeWork) {
  const Address at = this->memory();
  for (const std::uint64_t id : {0, 2}) {
    this->put(at, {11}, StreamId(id));
    ASSERT_STATUS_OK(this->churn(at, 1, 3, StreamId(id)));
    EXPECT_EQ(this->get(at, 1, StreamId(id)).front(), churned(11, 3)) << id;
  }
}

// ---- work --------------------------------------------------------------------------------------

TYPED_TEST_P(DriverContract, AFillSetsItsBytesAndNoOthers) {
  const Address at = this->memory();
  this->put(at, {1, 1, 1});
  ASSERT_STATUS_OK(this->driver().fill(at + Bytes(4), 0xab, Bytes(4), StreamId(0)));
  EXPECT_EQ(this->get(at, 3), (std::vector<std::uint32_t>{1, 0xabababab, 1}));
}

TYPED_TEST_P(DriverContract, PageableHostMemoryMayBeReusedAtOnce) {
  const Address at = this->memory();
  std::vector<std::uint32_t> values(this->page_.value() / sizeof(std::uint32_t));
  for (std::uint32_t round = 0; round < 4; ++round) {
    std::fill(values.begin(), values.end(), round);
    this->put(at, values, StreamId(0));
    std::fill(values.begin(), values.end(), 0xeeeeeeeeU);
    EXPECT_EQ(this->get(at, values.size()), std::vector<std::uint32_t>(values.size(), round));
  }
}

TYPED_TEST_P(DriverContract, HostMemoryIsRegisteredOnce) {
  std::uint32_t* const host = this->pinned(4096, 0);
  EXPECT_EQ(this->driver().register_host(host, Bytes(4096)).code(), Code::kDriver);
  std::uint32_t other = 0;
  EXPECT_EQ(this->driver().unregister_host(&other).code(), Code::kDriver);
}

TYPED_TEST_P(DriverContract, AnyThreadMayMakeAnyCall) {
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

REGISTER_TYPED_TEST_SUITE_P(
    DriverContract, ADeviceSaysWhatItIs, AnUnknownDeviceIsAnInvalidArgument,
    AFrameTakesItsBytesFromTheFreeMemory, AReservedRangeIsAligned,
    WrongSizesAndAlignmentsAreRefused, MoreThanTheMemoryIsOutOfMemory,
    AMappingWithoutAccessCannotBeCopiedTo, AFrameKeepsItsBytesWhileItIsNotMapped,
    AFrameMovesToAnotherAddressWithItsBytes, OneSetAccessCoversManyMappings,
    ADestroyedFrameLivesAsLongAsItsMapping, TheMemoryOfAFrameComesBack,
    AHostFrameServesAtADeviceAddressWithoutDeviceMemory, AStreamRunsItsWorkInOrder,
    AnEventOrdersWorkOfTwoStreams, AnEventThatWasNeverRecordedHoldsNobody,
    AnEventIsNotReadyUntilItsWorkHasRun, RecordingAgainMovesTheEvent,
    ADestroyedStreamFinishesItsWork, TheDefaultStreamsTakeWork, AFillSetsItsBytesAndNoOthers,
    PageableHostMemoryMayBeReusedAtOnce, HostMemoryIsRegisteredOnce, AnyThreadMayMakeAnyCall);

}  // namespace tessera::contract
