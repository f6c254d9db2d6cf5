#include "base/units.hpp"

#include <gtest/gtest.h>

#include <unordered_set>

namespace tessera {
namespace {

template <class A, class B>
concept Adds = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Subtracts = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Compares = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Divides = requires(A a, B b) {
  a / b;
};

// Expressions that must not compile. A mistake in these types makes this file fail to build.
static_assert(!Adds<PageCount, Bytes>);
static_assert(!Adds<Bytes, PageCount>);
static_assert(!Adds<Bytes, int>);
static_assert(!Adds<Bytes, Nanoseconds>);
static_assert(!Subtracts<Bytes, PageCount>);
static_assert(!Compares<Bytes, PageCount>);
static_assert(!Divides<Bytes, PageCount>);
static_assert(!Adds<Address, Address>);
static_assert(!Adds<Bytes, Address>);
static_assert(!Adds<StreamId, StreamId>);
static_assert(!Compares<StreamId, EventId>);
static_assert(!std::is_convertible_v<std::uint64_t, Bytes>);
static_assert(!std::is_convertible_v<Bytes, std::uint64_t>);
static_assert(!std::is_convertible_v<Bytes, bool>);
static_assert(!std::is_convertible_v<FrameId, EventId>);

// Expressions that must compile: otherwise the lines above prove nothing.
static_assert(Adds<Bytes, Bytes>);
static_assert(Adds<PageCount, PageCount>);
static_assert(Adds<Address, Bytes>);
static_assert(Subtracts<Address, Address>);
static_assert(Compares<Bytes, Bytes>);
static_assert(Divides<Bytes, Bytes>);

TEST(Units, AmountsOfOneKindAddSubtractAndScale) {
  EXPECT_EQ(1_MiB + 1_MiB, 2_MiB);
  EXPECT_EQ(3_KiB - 1_KiB, 2048_B);
  EXPECT_EQ(3 * 2_MiB, 2_MiB * 3);
  EXPECT_EQ(1_GiB / 4, 256_MiB);
  EXPECT_EQ(1_TiB / 1_GiB, 1024u);
  EXPECT_EQ(5_MiB % 2_MiB, 1_MiB);
}

TEST(Units, AnAmountIsTrueUnlessItIsZero) {
  EXPECT_FALSE(Bytes());
  EXPECT_TRUE(1_B);
}

TEST(Units, RoundUpGivesTheNextMultiple) {
  EXPECT_EQ(round_up(0_B, 4_KiB), 0_B);
  EXPECT_EQ(round_up(1_B, 4_KiB), 4_KiB);
  EXPECT_EQ(round_up(4_KiB, 4_KiB), 4_KiB);
  EXPECT_EQ(round_up(4097_B, 4_KiB), 8_KiB);
}

TEST(Units, AddressesMoveByBytesAndDifferByBytes) {
  const Address start(0x1000);
  EXPECT_EQ(start + 4_KiB, Address(0x2000));
  EXPECT_EQ(Address(0x3000) - start, 8_KiB);
  EXPECT_FALSE(Address());
}

TEST(Units, IdsCanBeKeysOfAHashTable) {
  const std::unordered_set<FrameId> frames = {FrameId(1), FrameId(2), FrameId(1)};
  EXPECT_EQ(frames.size(), 2u);
}

}  // namespace
}  // namespace tessera
