#include "policy/shipped_policies.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ShippedPolicies, StartWithAutoAndConstructByName) {
  const std::vector<PolicyEntry> shipped = shipped_policies();
  ASSERT_FALSE(shipped.empty());
  EXPECT_EQ(shipped.front().name, "auto");
  for (const PolicyEntry& entry : shipped) EXPECT_EQ(entry.make()->name(), entry.name);
}

TEST(ShippedPolicies, OnlyCapuchinTakesAParameter) {
  for (const PolicyEntry& entry : shipped_policies()) {
    EXPECT_EQ(entry.make_with != nullptr, entry.name == "capuchin") << entry.name;
  }
}

}  // namespace
}  // namespace tessera
