#include "tessera/mapping.h"

#include <gtest/gtest.h>

namespace {

TEST(MappingApi, RefusesNull) {
  tessera_address address = 0;
  EXPECT_EQ(tessera_addresses_reserve(nullptr, 0, TESSERA_MAPPABLE_PAGE, &address), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_addresses_release(nullptr, address), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_mappable_create(nullptr, 0, TESSERA_MAPPABLE_PAGE, &address), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_mappable_destroy(nullptr, address), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_mappable_move(nullptr, address, address, &address), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
