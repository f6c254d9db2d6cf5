#include "residency/pages/bytes_by_tag.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(BytesByTag, MoveBetweenTiers) {
  BytesByTag tags;
  tags.move(TagId(7), Location::kNowhere, Location::kDevice, 4_MiB);
  tags.move(TagId(), Location::kNowhere, Location::kFile, 2_MiB);
  tags.move(TagId(7), Location::kDevice, Location::kHost, 1_MiB);
  tags.move(TagId(7), Location::kHost, Location::kHost, 1_MiB);
  const std::vector<BytesByTag::Sum> expected = {{TagId(), {Bytes(), Bytes(), Bytes(), 2_MiB}},
                                                 {TagId(7), {3_MiB, Bytes(), 1_MiB, Bytes()}}};
  EXPECT_EQ(tags.sums(), expected);
}

TEST(BytesByTag, ATagWithoutBytesIsNotListed) {
  BytesByTag tags;
  EXPECT_TRUE(tags.sums().empty());
  tags.move(TagId(1), Location::kNowhere, Location::kDevice, 4_MiB);
  tags.move(TagId(1), Location::kDevice, Location::kNowhere, 4_MiB);
  EXPECT_TRUE(tags.sums().empty());
}

}  // namespace
}  // namespace tessera
