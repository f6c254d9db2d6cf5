#include "current_pools.hpp"

#include <gtest/gtest.h>

namespace tessera::preload {
namespace {

CUmemoryPool pool_at(std::uintptr_t number) { return reinterpret_cast<CUmemoryPool>(number); }

class CurrentPoolsTest : public testing::Test {
 protected:
  CUmemoryPool on(CUdevice device) {
    CUmemoryPool pool = nullptr;
    const bool told = pools_.find(device, pool, [&](CUmemoryPool& answer) {
      ++asked_;
      answer = current_;
      if (changes_meanwhile_) pools_.forget();
      return answers_;
    });
    return told ? pool : nullptr;
  }

  CurrentPools pools_;
  CUmemoryPool current_ = pool_at(1);
  bool answers_ = true, changes_meanwhile_ = false;
  int asked_ = 0;
};

TEST_F(CurrentPoolsTest, TheDriverIsAskedOnceForEachDevice) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(on(0), pool_at(1));
  EXPECT_EQ(asked_, 1);
  current_ = pool_at(2);
  EXPECT_EQ(on(1), pool_at(2));
  EXPECT_EQ(on(0), pool_at(1));
  EXPECT_EQ(asked_, 2);
}

TEST_F(CurrentPoolsTest, AfterAChangeItIsAskedAgain) {
  EXPECT_EQ(on(0), pool_at(1));
  current_ = pool_at(2);
  pools_.forget();
  EXPECT_EQ(on(0), pool_at(2));
  EXPECT_EQ(on(0), pool_at(2));
  EXPECT_EQ(asked_, 2);
}

TEST_F(CurrentPoolsTest, AnAnswerFromBeforeAChangeIsNotKept) {
  changes_meanwhile_ = true;
  EXPECT_EQ(on(0), pool_at(1));
  changes_meanwhile_ = false;
  current_ = pool_at(2);
  EXPECT_EQ(on(0), pool_at(2));
}

TEST_F(CurrentPoolsTest, ALateAnswerDoesNotReplaceANewerOne) {
  CUmemoryPool late = nullptr;
  EXPECT_TRUE(pools_.find(0, late, [&](CUmemoryPool& answer) {
    answer = pool_at(1);
    current_ = pool_at(2);
    pools_.forget();
    EXPECT_EQ(on(0), pool_at(2));
    return true;
  }));
  EXPECT_EQ(on(0), pool_at(2));
  EXPECT_EQ(asked_, 1) << "what was asked last is still known";
}

TEST_F(CurrentPoolsTest, NoAnswerIsNotKept) {
  answers_ = false;
  EXPECT_EQ(on(0), nullptr);
  answers_ = true;
  EXPECT_EQ(on(0), pool_at(1));
}

TEST_F(CurrentPoolsTest, DevicesWithoutAPlaceAreAskedForEachTime) {
  for (const CUdevice device : {-1, 64}) {
    asked_ = 0;
    EXPECT_EQ(on(device), pool_at(1));
    EXPECT_EQ(on(device), pool_at(1));
    EXPECT_EQ(asked_, 2);
  }
}

}  // namespace
}  // namespace tessera::preload
