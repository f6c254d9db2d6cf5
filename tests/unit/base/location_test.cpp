#include "base/location.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(LocationTest, HasTheNamesThatReportsUse) {
  EXPECT_STREQ(name_of(Location::kDevice), "device");
  EXPECT_STREQ(name_of(Location::kPeer), "peer");
  EXPECT_STREQ(name_of(Location::kHost), "host");
  EXPECT_STREQ(name_of(Location::kFile), "file");
}

TEST(LocationTest, OnlyNowhereHasNoIndexAmongThoseThatHoldBytes) {
  EXPECT_EQ(index_of(Location::kDevice), 0U);
  EXPECT_LT(index_of(Location::kFile), kLocations);
  EXPECT_EQ(index_of(Location::kNowhere), kLocations);
}

TEST(LocationsTest, HasWhatWasPutIn) {
  const Locations none, two = Location::kHost | Location::kFile;
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(two.empty());
  EXPECT_TRUE(two.has(Location::kHost) && two.has(Location::kFile));
  EXPECT_FALSE(two.has(Location::kDevice) || two.has(Location::kPeer) || two.has(Location::kNowhere));
  EXPECT_TRUE(two.has_any(Location::kFile | Location::kDevice));
  EXPECT_FALSE(two.has_any(Location::kPeer | Location::kDevice));
  EXPECT_EQ(two | Location::kHost, two);
}

TEST(LocationsTest, NowhereIsInNoSet) {
  EXPECT_TRUE(Locations(Location::kNowhere).empty());
  EXPECT_EQ(Locations(Location::kHost) | Location::kNowhere, Locations(Location::kHost));
}

}  // namespace
}  // namespace tessera
