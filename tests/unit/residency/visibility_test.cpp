#include "residency/pages/visibility.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::uint64_t kManyLaunches = 1'000'000;

TEST(Visibility, WhatNoLaunchNamesIsUnseen) {
  EXPECT_EQ(visibility_of({}), Visibility::kUnseen);
  EXPECT_EQ(visibility_of({.idle = kManyLaunches}), Visibility::kUnseen);
}

TEST(Visibility, WhatALaunchNamesIsSeen) { EXPECT_EQ(visibility_of({.named = true}), Visibility::kSeen); }

TEST(Visibility, AUseThatIsExpectedIsSeen) {
  EXPECT_EQ(visibility_of({.expected = true}), Visibility::kSeen);
  EXPECT_EQ(visibility_of({.named = true, .idle = kManyLaunches, .expected = true}), Visibility::kSeen);
}

TEST(Visibility, WhatWasNamedLongAgoIsInDoubt) {
  EXPECT_EQ(visibility_of({.named = true, .idle = 4096}), Visibility::kSeen);
  EXPECT_EQ(visibility_of({.named = true, .idle = 4097}), Visibility::kDoubtful);
}

TEST(Visibility, AProgramMayUseItSeldom) {
  EXPECT_EQ(visibility_of({.named = true, .idle = 8000, .gap = 1000}), Visibility::kSeen);
  EXPECT_EQ(visibility_of({.named = true, .idle = 8001, .gap = 1000}), Visibility::kDoubtful);
}

}  // namespace
}  // namespace tessera
