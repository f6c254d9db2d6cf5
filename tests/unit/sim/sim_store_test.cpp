#include "sim/sim_store.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace tessera {
namespace {

TEST(SimStore, PiecesAreZeroAndDisjoint) {
  SimStore store("the test", 8_MiB, 2_MiB);
  const auto a = store.take(2_MiB);
  const auto b = store.take(4_MiB);
  ASSERT_TRUE(a.is_ok() && b.is_ok());
  *store.at(a.value()) = std::byte{1};
  *store.at(b.value()) = std::byte{2};
  EXPECT_EQ(*store.at(a.value()), std::byte{1});
  EXPECT_EQ(*(store.at(b.value()) + (4_MiB).value() - 1), std::byte{0});
  EXPECT_EQ(store.used(), 6_MiB);
}

TEST(SimStore, AReusedPieceIsZero) {
  SimStore store("the test", 2_MiB, 2_MiB);
  const auto first = store.take(2_MiB);
  ASSERT_TRUE(first.is_ok());
  *store.at(first.value()) = std::byte{7};
  store.give(first.value(), 2_MiB);
  const auto again = store.take(2_MiB);
  ASSERT_TRUE(again.is_ok());
  EXPECT_EQ(again.value(), first.value());
  EXPECT_EQ(*store.at(again.value()), std::byte{0});
}

TEST(SimStore, MemoryOfFreedPiecesIsKeptUpToTheCapacity) {
  SimStore store("the test", 6_MiB, 2_MiB);
  const auto take = [&store](Bytes bytes) {
    const Bytes piece = store.take(bytes).take();
    std::memset(store.at(piece), 1, bytes.value());
    return piece;
  };
  const Bytes first = take(2_MiB);
  take(2_MiB);
  const int file = store.share();
  const auto held = [file] {
    struct stat now {};
    EXPECT_EQ(::fstat(file, &now), 0);
    return Bytes(static_cast<std::uint64_t>(now.st_blocks) * 512);
  };
  store.give(first, 2_MiB);
  EXPECT_EQ(held(), 4_MiB);
  const Bytes larger = take(4_MiB);  // there is no room for it where the first was
  EXPECT_EQ(held(), 8_MiB);
  store.give(larger, 4_MiB);
  EXPECT_EQ(held(), 4_MiB);
  ::close(file);
}

TEST(SimStore, TheCapacityIsTheLimitAndTheMessageAddsUp) {
  SimStore store("the test", 6_MiB, 2_MiB);
  ASSERT_TRUE(store.take(4_MiB).is_ok());
  const auto more = store.take(4_MiB);
  EXPECT_EQ(more.status().code(), Code::kOutOfMemory);
  EXPECT_EQ(more.status().message(), "a frame of 4194304 bytes on the test: 2097152 of 6291456 bytes are free");
}

TEST(SimStore, APieceMappedElsewhereKeepsItsBytes) {
  SimStore store("the test", 4_MiB, 2_MiB);
  const auto piece = store.take(2_MiB);
  ASSERT_TRUE(piece.is_ok());
  const std::size_t bytes = (2_MiB).value();
  void* const window = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(window, MAP_FAILED);
  std::byte* const shown = static_cast<std::byte*>(window);
  for (int round = 1; round < 4; ++round) {
    ASSERT_TRUE(store.show(piece.value(), 2_MiB, window));
    shown[bytes - 1] = static_cast<std::byte>(round);
    EXPECT_EQ(store.at(piece.value())[bytes - 1], shown[bytes - 1]) << "home sees it meanwhile";
    ASSERT_TRUE(store.hide(piece.value(), 2_MiB, window));
    ASSERT_EQ(::mmap(window, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), window);
    EXPECT_EQ(store.at(piece.value())[bytes - 1], static_cast<std::byte>(round));
  }
  ::munmap(window, bytes);
}

TEST(SimStore, FragmentsDoNotCostCapacity) {
  SimStore store("the test", 16_MiB, 2_MiB);
  std::vector<Bytes> pieces;
  for (int i = 0; i < 8; ++i) pieces.push_back(store.take(2_MiB).take());
  for (std::size_t i = 0; i < pieces.size(); i += 2) store.give(pieces[i], 2_MiB);
  EXPECT_TRUE(store.take(8_MiB).is_ok());
}

}  // namespace
}  // namespace tessera
