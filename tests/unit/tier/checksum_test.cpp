#include "tier/checksum.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(Checksum, ChangesWithEveryByteOfAPage) {
  std::vector<unsigned char> data(4096);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 131);
  const std::uint64_t sum = checksum_of(data.data(), Bytes(data.size()));
  EXPECT_EQ(sum, narrow_checksum(data.data(), data.size()));
  for (unsigned char& byte : data) {
    byte ^= 1;
    EXPECT_NE(checksum_of(data.data(), Bytes(data.size())), sum);
    byte ^= 1;
  }
}

// The value from the algorithm's specification, so that our files use standard XXH3.
TEST(Checksum, EmptyInputGivesTheKnownConstant) { EXPECT_EQ(checksum_of("", Bytes()), 0x2d06800538d394c2u); }

}  // namespace
}  // namespace tessera
