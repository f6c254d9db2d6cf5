#include "policy/policy.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(MakePolicy, RefusesAnUnknownNameAndListsTheKnown) {
  const auto made = make_policy("wishful");
  EXPECT_EQ(made.status().code(), Code::kInvalidArgument);
  EXPECT_NE(made.status().message().find("recency"), std::string_view::npos);
}

TEST(WithSeed, SeedsRandomPoliciesThatHaveNoSeed) {
  EXPECT_EQ(with_seed("swapadvisor", 7), "swapadvisor:7");
  EXPECT_EQ(with_seed("swapadvisor:3", 7), "swapadvisor:3");
  EXPECT_EQ(with_seed("lru", 7), "lru");
  EXPECT_EQ(with_seed("atc24", 7), "atc24") << "its number is no seed";
  for (const char* seed : {"swapadvisor:0", "swapadvisor:-1", "swapadvisor:1e300", "swapadvisor:nan"}) {
    EXPECT_TRUE(make_policy(seed).is_ok()) << seed;
  }
}

}  // namespace
}  // namespace tessera
