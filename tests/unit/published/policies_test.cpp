#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "policy/policy.hpp"
#include "policy/shipped_policies.hpp"

namespace tessera {
namespace {

TEST(Policies, EveryEntryMakesThePolicyOfItsName) {
  std::set<std::string_view> names;
  for (const PolicyEntry& entry : policies()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " twice";
    EXPECT_EQ(entry.make()->name(), entry.name);
    EXPECT_FALSE(entry.source.empty());
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_TRUE(make_policy(entry.name).is_ok());
  }
}

TEST(Policies, TheLaboratorysStartWithTheShippedOnes) {
  const std::vector<PolicyEntry> shipped = shipped_policies();
  ASSERT_LT(shipped.size(), policies().size());
  for (std::size_t i = 0; i < shipped.size(); ++i) EXPECT_EQ(policies()[i].name, shipped[i].name);
}

}  // namespace
}  // namespace tessera
