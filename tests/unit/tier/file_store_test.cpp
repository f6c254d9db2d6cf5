#include "tier/file_store.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// A disk that records discarded ranges.
class ForgettingIo final : public FileIo {
 public:
  const char* name() const override { return "test"; }
  Result<IoTicket> read(void*, Bytes, Bytes) override { return IoTicket(1); }
  Result<IoTicket> write(const void*, Bytes, Bytes) override { return IoTicket(1); }
  Status poll(IoTicket) override { return {}; }
  Status wait(IoTicket) override { return {}; }
  Status discard(Bytes offset, Bytes bytes) override {
    forgotten.emplace_back(offset, bytes);
    return {};
  }
  std::vector<std::pair<Bytes, Bytes>> forgotten;
};

class FileStoreTest : public testing::Test {
 protected:
  void TearDown() override {
    const Status sound = store_.validate();
    EXPECT_TRUE(sound.is_ok()) << sound.to_string();
  }
  std::unique_ptr<ForgettingIo> owned_ = std::make_unique<ForgettingIo>();
  ForgettingIo& io_ = *owned_;
  FileStore store_{std::move(owned_), 1_GiB, 4_GiB + 4_KiB, "/somewhere"};
};

TEST_F(FileStoreTest, PlacesBeginWhereTheFileBeginsAmongTheOthers) {
  EXPECT_EQ(store_.capacity(), 4_GiB);
  const auto first = store_.take(kLargePage);
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, 1_GiB);
  EXPECT_TRUE(store_.holds(1_GiB));
  EXPECT_FALSE(store_.holds(1_GiB - Bytes(1)));
  EXPECT_FALSE(store_.holds(5_GiB));
  EXPECT_EQ(store_.used(), kLargePage);
  EXPECT_EQ(store_.room(), 4_GiB - kLargePage);
  store_.give_back(*first, kLargePage, false);
  EXPECT_EQ(store_.used(), Bytes());
}

TEST_F(FileStoreTest, DoesNotDiscardUnwrittenSpace) {
  store_.give_back(*store_.take(kBasePage), kBasePage, false);
  store_.trim();
  EXPECT_TRUE(io_.forgotten.empty());
}

TEST_F(FileStoreTest, DiscardsFreedSpaceInOnePiece) {
  const auto a = store_.take(kBasePage), b = store_.take(kBasePage);
  store_.give_back(*a, kBasePage, true);
  store_.give_back(*b, kBasePage, true);
  EXPECT_EQ(store_.spare(), 2 * kBasePage);
  store_.trim();
  ASSERT_EQ(io_.forgotten.size(), 1u);
  EXPECT_EQ(io_.forgotten[0], std::make_pair(Bytes(), 2 * kBasePage));
  EXPECT_EQ(store_.spare(), Bytes());
}

TEST_F(FileStoreTest, DiscardsALotOfFreeSpaceUnasked) {
  std::vector<Bytes> places;
  for (Bytes taken; taken <= 1_GiB; taken += kLargePage) places.push_back(*store_.take(kLargePage));
  for (const Bytes place : places) store_.give_back(place, kLargePage, true);
  EXPECT_FALSE(io_.forgotten.empty());
  EXPECT_LE(store_.spare(), 1_GiB);
}

TEST_F(FileStoreTest, AFileThatFailedHasNoRoomAndKeepsWhatItHolds) {
  const auto place = store_.take(kBasePage);
  store_.fail();
  EXPECT_FALSE(store_.take(kBasePage));
  EXPECT_EQ(store_.room(), Bytes());
  EXPECT_EQ(store_.used(), kBasePage);
  store_.give_back(*place, kBasePage, true);
}

}  // namespace
}  // namespace tessera
