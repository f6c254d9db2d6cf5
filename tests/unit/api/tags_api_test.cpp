#include <gtest/gtest.h>

#include "tessera/tessera.h"

// Tests that need a driver are in tests/c_api, which runs on one.
namespace {

TEST(TagsApi, RefusesNull) {
  tessera_moved moved{sizeof(tessera_moved), 0, 0, 0};
  EXPECT_EQ(tessera_sleep(nullptr, "kv", &moved), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_wake(nullptr, "kv", &moved), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_free_after(nullptr, 0, nullptr, 0), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
