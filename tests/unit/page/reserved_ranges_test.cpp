// Addresses that the program reserves, and runs that are moved there.
#include <gtest/gtest.h>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

constexpr Domain kMapped{3, StreamId(0), TagId(7)};

class ReservedRanges : public LayerTest {
 protected:
  ReservedRanges() : LayerTest({.device = 128_MiB, .host = 128_MiB, .heap = 512_MiB}) {}

  Run* acquire(Bytes bytes) { return take(pages().acquire(bytes, kMapped, {})); }
  void TearDown() override {
    expect_ok(pages().validate());
    LayerTest::TearDown();
  }
};

TEST_F(ReservedRanges, ARunIsFoundWhereItWasMovedAndNowhereElse) {
  const Address range = take(pages().reserve(70_MiB));
  EXPECT_TRUE(pages().is_reserved(range + 68_MiB));
  Run* const run = acquire(6_MiB);
  const Address own = run->address;
  EXPECT_FALSE(pages().is_reserved(own));
  expect_ok(pages().move(run, range + 30_MiB));  // across two windows
  EXPECT_EQ(run->address, range + 30_MiB);
  EXPECT_EQ(pages().find(range + 35_MiB), run);
  EXPECT_EQ(pages().find(own), nullptr);
  EXPECT_EQ(pages().find(range), nullptr);
  expect_ok(pages().validate());
  expect_ok(pages().move(run, std::nullopt));
  EXPECT_FALSE(pages().is_reserved(run->address));
  EXPECT_EQ(pages().find(range + 30_MiB), nullptr);
  EXPECT_EQ(pages().find(run->address), run);
  expect_ok(pages().release(run));
  expect_ok(pages().unreserve(range));
  EXPECT_EQ(pages().stats().in_windows, Bytes());
}

TEST_F(ReservedRanges, RunsLieSideBySideAndARunMayEndInItsPlace) {
  const Address range = take(pages().reserve(64_MiB));
  Run* const first = acquire(40_MiB);  // a large page and base pages
  Run* const second = acquire(24_MiB);
  expect_ok(pages().move(second, range + 40_MiB));
  expect_ok(pages().move(first, range));
  expect_ok(pages().validate());
  EXPECT_EQ(pages().unreserve(range).code(), Code::kBusy);
  expect_ok(pages().release(first));
  EXPECT_EQ(pages().find(range), nullptr);
  EXPECT_EQ(pages().find(range + 40_MiB), second);
  EXPECT_EQ(pages().unreserve(range).code(), Code::kBusy);
  expect_ok(pages().release(second));
  expect_ok(pages().unreserve(range));
}

TEST_F(ReservedRanges, OnlyReservedAddressesWithoutARunAreAPlace) {
  const Address range = take(pages().reserve(32_MiB));
  Run* const there = acquire(4_MiB);
  Run* const run = acquire(4_MiB);
  const Address own = run->address;
  expect_ok(pages().move(there, range + 4_MiB));
  for (const Address to : {range + 2_MiB, range + 4_MiB, range + 6_MiB, range + 30_MiB, range + 1_MiB, own, Address(64),
                           pages().high(), pages().low() + 480_MiB}) {
    EXPECT_EQ(pages().move(run, to).code(), Code::kInvalidArgument) << to.value() - range.value();
    EXPECT_EQ(run->address, own);
    EXPECT_EQ(pages().find(own), run);
  }
  for (const Address to : {range, range + 8_MiB, range + 28_MiB}) {
    expect_ok(pages().move(run, to));
    expect_ok(pages().move(run, std::nullopt));
  }
  for (Run* const each : {there, run}) expect_ok(pages().release(each));
  expect_ok(pages().unreserve(range));
}

TEST_F(ReservedRanges, HalfOfTheAddressesAtMost) {
  EXPECT_EQ(pages().reserve(Bytes()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(pages().reserve(kEverything).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(pages().reserve(257_MiB).status().code(), Code::kOutOfMemory);
  const Address half = take(pages().reserve(256_MiB));
  EXPECT_EQ(pages().reserve(2_MiB).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(pages().unreserve(half + 32_MiB).code(), Code::kNotFound);
  EXPECT_EQ(pages().unreserve(Address(64)).code(), Code::kNotFound);
  expect_ok(pages().unreserve(half));
  EXPECT_EQ(pages().unreserve(half).code(), Code::kNotFound);
}

TEST_F(ReservedRanges, ARunInABlockingUseIsNotMoved) {
  const Address range = take(pages().reserve(2_MiB));
  Run* const run = acquire(2_MiB);
  const Address own = run->address;
  Use use;
  Run* const runs[] = {run};
  expect_ok(residency().begin_use(runs, kNoStream, Access::kRead, Use::Kind::kHold, use));
  EXPECT_EQ(pages().move(run, range).code(), Code::kBusy);
  EXPECT_EQ(pages().find(own), run);
  expect_ok(pages().validate());
  residency().end_use(runs, kNoStream, use);
  expect_ok(pages().move(run, range));
  expect_ok(pages().release(run));
  expect_ok(pages().unreserve(range));
}

TEST_F(ReservedRanges, RunsThatDoNotFillAReservationAreInItsRange) {
  const Address range = take(pages().reserve(40_MiB)), other = take(pages().reserve(4_MiB));
  EXPECT_EQ(pages().reservation_of(range + 39_MiB), std::pair(range, 40_MiB));
  EXPECT_EQ(pages().reservation_of(Address(range.value() - 1)), std::nullopt);
  Run* const one = acquire(4_MiB);
  Run* const two = acquire(4_MiB);
  EXPECT_EQ(one->row, nullptr);
  expect_ok(pages().move(one, range));
  expect_ok(pages().move(two, range + 10_MiB));
  ASSERT_NE(one->row, nullptr);
  EXPECT_EQ(two->row, one->row);
  EXPECT_EQ(pages().find(range), one) << "the map has the runs, not the range";
  expect_ok(pages().validate());
  EXPECT_EQ(pages().unreserve(range).code(), Code::kBusy);
  EXPECT_EQ(pages().move(two, range + 2_MiB).code(), Code::kInvalidArgument);
  EXPECT_EQ(two->row, one->row);
  expect_ok(pages().move(two, other));
  EXPECT_EQ(two->row, nullptr) << "it fills that one";
  expect_ok(pages().release(one));
  expect_ok(pages().unreserve(range));
  expect_ok(pages().release(two));
  expect_ok(pages().unreserve(other));
}

}  // namespace
}  // namespace tessera
