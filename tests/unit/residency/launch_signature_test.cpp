#include "residency/iteration/launch_signature.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

// A reallocated block has another address in each iteration: only the order within the launch distinguishes two.
TEST(LaunchSignature, TheRoleIgnoresAddresses) {
  EXPECT_EQ(role_of(4_MiB, TagId(1), true, 1 << 26), role_of(4_MiB, TagId(1), true, 2 << 26));
}

TEST(LaunchSignature, TheRoleIncludesAGivenName) {
  EXPECT_LT(role_of(4_MiB, TagId(1), true, kGivenNames + 1), role_of(4_MiB, TagId(1), true, kGivenNames + 2));
  EXPECT_NE(role_of(4_MiB, TagId(1), true, kGivenNames + 1), role_of(4_MiB, TagId(1), true, 1 << 26));
}

TEST(LaunchSignature, RolesSortBySmallThenSizeTagAndAccess) {
  const std::vector<RunRole> in_order = {
      role_of(4_MiB, TagId(1), false, 9 << 26), role_of(4_MiB, TagId(1), true, 8 << 26),
      role_of(4_MiB, TagId(2), false, 7 << 26), role_of(6_MiB, TagId(1), false, 6 << 26),
      role_of(kBasePage, TagId(1), false, 5 << 26)};
  EXPECT_TRUE(std::ranges::is_sorted(in_order));
}

TEST(LaunchSignature, CoversTheWorkAndTheSizesInOrder) {
  const int works[2] = {};
  const auto itself = [](Bytes bytes) { return bytes; };
  const std::vector<Bytes> sizes = {4_MiB, 6_MiB}, others = {6_MiB, 4_MiB};
  const std::uint64_t signature = signature_of(&works[0], sizes, itself);
  EXPECT_EQ(signature, signature_of(&works[0], sizes, itself));
  EXPECT_NE(signature, signature_of(&works[1], sizes, itself));
  EXPECT_NE(signature, signature_of(&works[0], others, itself));
}

}  // namespace
}  // namespace tessera
