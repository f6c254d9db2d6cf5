#include "observe/history.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera {
namespace {

constexpr Nanoseconds kBegin(1'000'000'000);

Nanoseconds at(std::uint64_t milliseconds) { return kBegin + Nanoseconds(milliseconds * 1'000'000); }

Bytes moved(const HistoryPicture& picture, Link link) {
  Bytes sum;
  for (const HistorySlot& slot : picture.slots) sum += slot.moved[static_cast<std::size_t>(link)];
  return sum;
}

double mean(const HistoryPicture& picture, std::size_t tag, Location place, std::size_t slot) {
  return picture.tags[tag].bytes[index_of(place)][slot];
}

TEST(History, AMoveIsSpreadOverItsTime) {
  History history(kBegin);
  history.add_move(Link::kIn, Bytes(1000), at(1), at(5));
  const HistoryPicture picture = history.picture(at(6));
  EXPECT_EQ(picture.slot, Nanoseconds(1'000'000));
  EXPECT_EQ(picture.ended, Nanoseconds(6'000'000));
  for (std::size_t slot = 1; slot < 5; ++slot) EXPECT_EQ(picture.slots[slot].moved[0], Bytes(250)) << slot;
  EXPECT_EQ(moved(picture, Link::kIn), Bytes(1000));
}

TEST(History, AnInstantMoveIsInOneSlot) {
  History history(kBegin);
  history.add_move(Link::kOut, Bytes(7), at(3), at(3));
  EXPECT_EQ(history.picture(at(4)).slots[3].moved[static_cast<std::size_t>(Link::kOut)], Bytes(7));
}

TEST(History, ALongRunHasWiderSlotsAndTheSameSums) {
  std::mt19937_64 random(3);
  History history(kBegin);
  std::array<Bytes, kLinks> sums;
  StallParts waits{};
  for (std::uint64_t now = 0; now < 100'000; now += 1 + random() % 500) {
    const auto link = random() % kLinks;
    const Bytes bytes(random() % (1 << 25));
    history.add_move(static_cast<Link>(link), bytes, at(now), at(now + random() % 900));
    sums[link] += bytes;
    StallParts parts{};
    for (auto& part : parts) part = {0, Nanoseconds(random() % 1'000'003)};
    history.add_stall(parts, at(now), at(now + random() % 50));
    add_parts(waits, parts);
  }
  const HistoryPicture picture = history.picture(at(101'000));
  EXPECT_LE(picture.slots.size(), History::kSlots);
  EXPECT_GT(picture.slots.size(), History::kSlots / 4);
  for (std::size_t link = 0; link < kLinks; ++link) {
    EXPECT_EQ(moved(picture, static_cast<Link>(link)), sums[link]);
  }
  for (std::size_t cause = 0; cause < kStallCauses; ++cause) {
    Nanoseconds sum;
    for (const HistorySlot& slot : picture.slots) sum += slot.waited[cause];
    EXPECT_EQ(sum, waits[cause].time);
  }
}

TEST(History, ResidentBytesAreTheMeanOverASlot) {
  History history(kBegin);
  history.change_place(TagId(4), Location::kNowhere, Location::kDevice, Bytes(100), at(1));
  history.change_place(TagId(4), Location::kDevice, Location::kHost, Bytes(40), at(2) + Nanoseconds(500'000));
  const HistoryPicture picture = history.picture(at(4));
  ASSERT_EQ(picture.tags.size(), 1U);
  EXPECT_EQ(picture.tags[0].tag, TagId(4));
  EXPECT_DOUBLE_EQ(mean(picture, 0, Location::kDevice, 0), 0);
  EXPECT_DOUBLE_EQ(mean(picture, 0, Location::kDevice, 1), 100);
  EXPECT_DOUBLE_EQ(mean(picture, 0, Location::kDevice, 2), 80);
  EXPECT_DOUBLE_EQ(mean(picture, 0, Location::kHost, 2), 20);
  EXPECT_DOUBLE_EQ(mean(picture, 0, Location::kDevice, 3), 60);
}

TEST(History, APartOfASlotIsTheMeanOverThePart) {
  History history(kBegin);
  history.change_place(TagId(), Location::kNowhere, Location::kFile, Bytes(8), kBegin);
  const HistoryPicture picture = history.picture(kBegin + Nanoseconds(250'000));
  EXPECT_DOUBLE_EQ(mean(picture, 0, Location::kFile, 0), 8);
}

TEST(History, ResidentBytesStayInEverySlotOfAnyWidth) {
  History history(kBegin);
  history.change_place(TagId(1), Location::kNowhere, Location::kDevice, Bytes(64), kBegin);
  history.change_place(TagId(2), Location::kNowhere, Location::kDevice, Bytes(32), at(90));
  const HistoryPicture picture = history.picture(at(60'000));
  for (std::size_t slot = 0; slot + 1 < picture.slots.size(); ++slot) {
    EXPECT_NEAR(mean(picture, 0, Location::kDevice, slot), 64, 1e-6) << slot;
  }
  EXPECT_NEAR(mean(picture, 1, Location::kDevice, 5), 32, 1e-6);
}

TEST(History, TagsBeyondTheBoundAreCountedTogether) {
  History history(kBegin);
  for (std::uint64_t tag = 0; tag < History::kTags + 5; ++tag) {
    history.change_place(TagId(tag), Location::kNowhere, Location::kDevice, Bytes(1), kBegin);
  }
  const HistoryPicture picture = history.picture(at(1));
  ASSERT_EQ(picture.tags.size(), History::kTags + 1);
  EXPECT_TRUE(picture.tags.back().others);
  EXPECT_DOUBLE_EQ(mean(picture, History::kTags, Location::kDevice, 0), 5);
}

}  // namespace
}  // namespace tessera
