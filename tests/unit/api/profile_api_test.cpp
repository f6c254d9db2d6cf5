#include "api/profile_api.hpp"

#include <gtest/gtest.h>

#include "allocator_machine.hpp"
#include "api/handles.hpp"
#include "tessera/interpose.h"
#include "tessera/profile.h"

namespace tessera {
namespace {

class ProfileApi : public AllocatorMachine {
 protected:
  void SetUp() override {
    start(small(32_MiB, 64_MiB));
    handle_.allocator = std::move(allocator_);
  }
  void TearDown() override { tessera_share(nullptr); }

  const std::string path_ = ::testing::TempDir() + "profile_api_test.json";
  tessera_allocator handle_;
};

TEST_F(ProfileApi, OfThisAllocatorOrOfTheSharedOne) {
  EXPECT_EQ(tessera_profile_begin(&handle_), TESSERA_OK);
  EXPECT_EQ(tessera_profile_end(&handle_, path_.c_str()), TESSERA_OK);
  tessera_share(&handle_);
  EXPECT_EQ(tessera_profile_begin(nullptr), TESSERA_OK);
  EXPECT_EQ(tessera_profile_end(&handle_, nullptr), TESSERA_OK);
}

TEST_F(ProfileApi, WhatHasNotBegunDoesNotEnd) {
  EXPECT_EQ(tessera_profile_end(&handle_, path_.c_str()), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_profile_begin(&handle_), TESSERA_OK);
  EXPECT_EQ(tessera_profile_end(&handle_, nullptr), TESSERA_OK);
  EXPECT_EQ(tessera_profile_end(&handle_, path_.c_str()), TESSERA_INVALID_ARGUMENT);
}

TEST_F(ProfileApi, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(tessera_profile_begin(&handle_), TESSERA_OK);
  EXPECT_EQ(tessera_profile_end(&handle_, "/nowhere/profile.json"), TESSERA_IO);
}

TEST_F(ProfileApi, WithoutARequestNoneBeginsWithTheSharedAllocator) {
  begin_awaited_profile(handle_);
  EXPECT_EQ(tessera_profile_end(&handle_, path_.c_str()), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tessera
