#include "tessera/extents.h"

#include <gtest/gtest.h>

#include "cuda_machine.hpp"
#include "tessera/interpose.h"

namespace tessera {
namespace {

TEST(ExtentsApi, RefusesNullAndTooMany) {
  tessera_use use{};
  const tessera_extent extent{0, 1};
  const tessera_range range{1, 1};
  const tessera_address address = 1;
  EXPECT_EQ(tessera_extents_add(nullptr, &range, 1), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_extents_remove(nullptr, &address, 1), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_extents_keep_whole(nullptr, address), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_extents_set(nullptr, 0, &extent, 1), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_use_begin_ranges(nullptr, &range, 1, nullptr, TESSERA_READ, &use), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_use_begin_blocking_ranges(nullptr, &range, 1, nullptr, TESSERA_READ, &use),
            TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_use_begin_ranges(nullptr, &range, 4097, nullptr, TESSERA_READ, &use), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tessera
