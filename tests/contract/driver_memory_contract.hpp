// The driver contract, first half: devices, addresses, frames and mappings.
//
// Everything here holds on a GPU as well: checks that only the strict simulated device makes are in tests/unit/driver.
// Instantiated through driver_contract.hpp.
//
// Thread safety: a test suite.
#pragma once

#include "driver_fixture.hpp"

namespace tessera::contract {

template <class Machine>
class DriverMemoryContract : public DriverFixture<Machine> {};

TYPED_TEST_SUITE_P(DriverMemoryContract);

// ---- devices -----------------------------------------------------------------------------------

TYPED_TEST_P(DriverMemoryContract, ADeviceReportsItsProperties) {
  ASSERT_GE(this->driver().device_count(), 1);
  EXPECT_FALSE(this->properties_.name.empty());
  EXPECT_GE(this->properties_.total_memory, this->page_ * 8);
  EXPECT_EQ(this->page_.value() & (this->page_.value() - 1), 0U);
}

TYPED_TEST_P(DriverMemoryContract, AnUnknownDeviceIsAnInvalidArgument) {
  const DeviceId none(static_cast<std::uint64_t>(this->driver().device_count()));
  EXPECT_EQ(this->driver().properties(none).status().code(), Code::kInvalidArgument);
}

TYPED_TEST_P(DriverMemoryContract, AFrameTakesItsBytesFromTheFreeMemory) {
  const auto before = this->driver().memory_info(this->kDevice);
  this->frame(2);
  const auto after = this->driver().memory_info(this->kDevice);
  ASSERT_TRUE(before.is_ok() && after.is_ok());
  EXPECT_EQ(before.value().total, after.value().total);
  EXPECT_LE(after.value().free + this->page_ * 2, before.value().free);
}

// ---- addresses and frames ----------------------------------------------------------------------

// Drivers may ignore larger alignments.
TYPED_TEST_P(DriverMemoryContract, AReservedRangeIsAlignedToThePage) {
  const Address at = this->range(3, this->page_ * 16);
  EXPECT_EQ(at.value() % this->page_.value(), 0U);
}

// Some drivers reject the hint.
TYPED_TEST_P(DriverMemoryContract, ARangeAtAHintThatIsTakenLiesElsewhere) {
  const Address taken = this->range(2);
  const auto other = this->driver().reserve(this->page_, this->page_, taken);
  if (!other.is_ok()) return;
  EXPECT_NE(other.value(), taken);
  EXPECT_STATUS_OK(this->driver().release(other.value(), this->page_));
}

TYPED_TEST_P(DriverMemoryContract, WrongSizesAndAlignmentsAreRefused) {
  Driver& driver = this->driver();
  const Address at = this->range(4);
  const FrameId frame = this->frame(2);
  EXPECT_FALSE(driver.reserve(this->page_ + Bytes(1), this->page_).is_ok());
  EXPECT_FALSE(driver.create_frame(this->kDevice, FrameLocation::kDevice, Bytes(1)).is_ok());
  EXPECT_FALSE(driver.map(at + Bytes(4096), this->page_ * 2, frame).is_ok());
  EXPECT_EQ(driver.map(at, this->page_, frame).code(), Code::kNotSupported) << "not the frame's size";
}

TYPED_TEST_P(DriverMemoryContract, MoreThanTheMemoryIsOutOfMemory) {
  const auto info = this->driver().memory_info(this->kDevice);
  ASSERT_TRUE(info.is_ok());
  const Bytes more = round_up(info.value().total, this->page_) + this->page_;
  const auto frame = this->driver().create_frame(this->kDevice, FrameLocation::kDevice, more);
  EXPECT_EQ(frame.status().code(), Code::kOutOfMemory);
}

TYPED_TEST_P(DriverMemoryContract, AMappingWithoutAccessCannotBeCopiedTo) {
  const Address at = this->range(1);
  this->map(at, this->frame());
  const std::uint32_t value = 1;
  EXPECT_FALSE(this->driver().copy_in(at, &value, Bytes(4), StreamId(0)).is_ok());
}

TYPED_TEST_P(DriverMemoryContract, AFrameKeepsItsBytesWhileItIsNotMapped) {
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

TYPED_TEST_P(DriverMemoryContract, AFrameMovesToAnotherAddressWithItsBytes) {
  const Address from = this->memory();
  const Address to = this->range(1);
  this->put(from, {5, 6});
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  this->unmap(from);
  this->map(to, this->frames_.front());
  this->allow(to);
  EXPECT_EQ(this->get(to, 2), (std::vector<std::uint32_t>{5, 6}));
}

TYPED_TEST_P(DriverMemoryContract, OneSetAccessCoversManyMappings) {
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

TYPED_TEST_P(DriverMemoryContract, ADestroyedFrameLivesAsLongAsItsMapping) {
  const Address at = this->memory();
  this->put(at, {42});
  ASSERT_STATUS_OK(this->driver().destroy_frame(this->frames_.back()));
  this->frames_.pop_back();
  EXPECT_EQ(this->get(at, 1).front(), 42U);
}

TYPED_TEST_P(DriverMemoryContract, ADestroyedFrameReturnsItsMemory) {
  const auto before = this->driver().memory_info(this->kDevice);
  ASSERT_TRUE(before.is_ok());
  for (int round = 0; round < 50; ++round) {
    const auto frame = this->driver().create_frame(this->kDevice, FrameLocation::kDevice, this->page_ * 4);
    ASSERT_TRUE(frame.is_ok()) << round << ": " << text(frame.status());
    ASSERT_STATUS_OK(this->driver().destroy_frame(frame.value()));
  }
  EXPECT_EQ(this->driver().memory_info(this->kDevice).value().free, before.value().free);
}

TYPED_TEST_P(DriverMemoryContract, AHostFrameServesAtADeviceAddressWithoutDeviceMemory) {
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

TYPED_TEST_P(DriverMemoryContract, AHostFrameMayStandAtTwoAddresses) {
  if (!this->properties_.host_frames) GTEST_SKIP() << "no host frames on this machine";
  const FrameId frame = this->frame(1, FrameLocation::kHost);
  const Address first = this->range(1), second = this->range(1);
  for (const Address at : {first, second}) {
    this->map(at, frame);
    this->allow(at);
  }
  this->put(first, {5, 6});
  EXPECT_EQ(this->get(second, 2), (std::vector<std::uint32_t>{5, 6}));
  ASSERT_STATUS_OK(this->driver().synchronize(this->kDevice));
  this->unmap(second);
  EXPECT_EQ(this->get(first, 2), (std::vector<std::uint32_t>{5, 6}));
}

REGISTER_TYPED_TEST_SUITE_P(DriverMemoryContract, ADeviceReportsItsProperties, AnUnknownDeviceIsAnInvalidArgument,
                            AFrameTakesItsBytesFromTheFreeMemory, AReservedRangeIsAlignedToThePage,
                            ARangeAtAHintThatIsTakenLiesElsewhere, WrongSizesAndAlignmentsAreRefused,
                            MoreThanTheMemoryIsOutOfMemory, AMappingWithoutAccessCannotBeCopiedTo,
                            AFrameKeepsItsBytesWhileItIsNotMapped, AFrameMovesToAnotherAddressWithItsBytes,
                            OneSetAccessCoversManyMappings, ADestroyedFrameLivesAsLongAsItsMapping,
                            ADestroyedFrameReturnsItsMemory, AHostFrameServesAtADeviceAddressWithoutDeviceMemory,
                            AHostFrameMayStandAtTwoAddresses);

}  // namespace tessera::contract
