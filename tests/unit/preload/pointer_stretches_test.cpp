#include "pointer_stretches.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tessera::preload {
namespace {

using Bounds = std::vector<std::pair<CUdeviceptr, CUdeviceptr>>;

class PointerStretchesTest : public testing::Test {
 protected:
  Bounds bounds() const {
    Bounds bounds;
    stretches_.for_each(0, ~CUdeviceptr{0}, [&](auto at) { bounds.emplace_back(at->first, at->second.end); });
    return bounds;
  }
  void pass_all() {
    stretches_.for_each(0, ~CUdeviceptr{0}, [](auto at) { at->second.pass(); });
  }

  PointerEntries entries_;
  PointerStretches stretches_;
};

TEST_F(PointerStretchesTest, StretchesThatTouchOrOverlapAreOne) {
  stretches_.join(16, 24);
  stretches_.join(32, 40);
  EXPECT_EQ(bounds(), (Bounds{{16, 24}, {32, 40}}));
  stretches_.join(24, 33);
  EXPECT_EQ(bounds(), (Bounds{{16, 40}}));
}

TEST_F(PointerStretchesTest, AStretchThatWasPassedJoinsOnlyWhatOverlapsIt) {
  stretches_.join(16, 24);
  pass_all();
  stretches_.join(24, 32);
  EXPECT_EQ(bounds(), (Bounds{{16, 24}, {24, 32}}));
  stretches_.join(20, 32);
  EXPECT_EQ(bounds(), (Bounds{{16, 32}}));
  stretches_.for_each(0, 64, [](auto at) { EXPECT_TRUE(at->second.is_passed()); });
}

TEST_F(PointerStretchesTest, WhatIsLeftOfACutStretchNeedsAnEntry) {
  entries_.put(16, 1);
  entries_.put(48, 2);
  stretches_.join(16, 56);
  entries_.erase(24, 32);
  stretches_.cut(24, 32, entries_);
  EXPECT_EQ(bounds(), (Bounds{{16, 24}, {32, 56}}));
  entries_.erase(40, 56);
  stretches_.cut(40, 56, entries_);
  EXPECT_EQ(bounds(), (Bounds{{16, 24}}));
}

TEST_F(PointerStretchesTest, AStretchWithoutEntriesIsDropped) {
  entries_.put(16, 1);
  entries_.put(24, 2);
  stretches_.join(16, 32);
  EXPECT_EQ(entries_.take_naming(2, 3), 24U);
  stretches_.drop_if_bare(24, entries_);
  EXPECT_EQ(bounds(), (Bounds{{16, 32}}));
  EXPECT_EQ(entries_.take_naming(1, 2), 16U);
  EXPECT_FALSE(entries_.take_naming(0, 100));
  stretches_.drop_if_bare(16, entries_);
  EXPECT_EQ(bounds(), Bounds());
}

}  // namespace
}  // namespace tessera::preload
