#include "tessera/interpose.h"

#include <gtest/gtest.h>

namespace {

void* no_driver(const char*, void*) { return nullptr; }

TEST(InterposeApi, TheResolverIsTheOnlyWayToTheDriver) {
  tessera_options* options = nullptr;
  ASSERT_EQ(tessera_options_create(&options), TESSERA_OK);
  ASSERT_EQ(tessera_options_set_resolver(options, &no_driver, nullptr), TESSERA_OK);
  tessera_allocator* allocator = nullptr;
  EXPECT_EQ(tessera_allocator_create(options, &allocator), TESSERA_NOT_SUPPORTED);
  EXPECT_EQ(allocator, nullptr);
  tessera_options_destroy(options);
}

TEST(InterposeApi, RefusesNull) {
  tessera_use use{};
  std::uint64_t number = 0;
  EXPECT_EQ(tessera_options_set_resolver(nullptr, &no_driver, nullptr), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_use_begin_words(nullptr, nullptr, 0, nullptr, nullptr, &use), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_use_begin_graded(nullptr, nullptr, 0, 0, 0, nullptr, nullptr, &use), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_expose(nullptr, 0, "x"), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_keep(nullptr, 0, "x"), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_unkeep(nullptr, 0), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_memory_info(nullptr, 0, &number, &number), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_synchronize(nullptr, 0), TESSERA_INVALID_ARGUMENT);
  tessera_address address = 0;
  std::uint32_t tag = 0;
  EXPECT_EQ(tessera_tag_number(nullptr, "x", &tag), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_malloc_tagged(nullptr, 0, 1, nullptr, 0, &address), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_trim_device_by(nullptr, 0, 0), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_finish(nullptr), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
