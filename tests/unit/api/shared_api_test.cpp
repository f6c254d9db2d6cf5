#include <gtest/gtest.h>

#include "api/handles.hpp"
#include "tessera/interpose.h"

// Tests that need a driver are in tests/c_api and tests/integration.
namespace {

TEST(SharedApi, IsTheOneThatWasShared) {
  tessera_allocator given;
  EXPECT_EQ(tessera_shared_exists(), 0);
  tessera_share(&given);
  tessera_allocator* found = nullptr;
  EXPECT_EQ(tessera_shared(&found), TESSERA_OK);
  EXPECT_EQ(found, &given);
  EXPECT_EQ(tessera_shared_exists(), 1);
  tessera_share(nullptr);
}

TEST(SharedApi, RefusesNull) {
  EXPECT_EQ(tessera_shared(nullptr), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_set_automatic(nullptr, 1), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
