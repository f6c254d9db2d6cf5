#include "tessera/tessera.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

// Tests that need a driver are in tests/c_api, which runs on one.
namespace {

TEST(CApi, EveryResultHasAName) {
  EXPECT_STREQ(tessera_result_name(TESSERA_OK), "ok");
  EXPECT_STREQ(tessera_result_name(TESSERA_DATA_LOSS), "data loss");
}

TEST(CApi, MemoryIsAvailableAndNoMoreThanTheMachineHas) {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  EXPECT_GT(tessera_available_memory(), 1u << 20);
  EXPECT_LE(tessera_available_memory(), pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

TEST(CApi, SwitchedOffReportsNotSupported) {
  tessera_options* options = nullptr;
  tessera_allocator* allocator = nullptr;
  ASSERT_EQ(tessera_options_create(&options), TESSERA_OK);
  ASSERT_EQ(tessera_options_set(options, "off", "true"), TESSERA_OK);
  EXPECT_EQ(tessera_allocator_create(options, &allocator), TESSERA_NOT_SUPPORTED);
  tessera_options_destroy(options);
}

TEST(CApi, RefusesOptionsThatDoNotFitTogether) {
  tessera_options* options = nullptr;
  tessera_allocator* allocator = nullptr;
  ASSERT_EQ(tessera_options_create(&options), TESSERA_OK);
  ASSERT_EQ(tessera_options_set(options, "low-watermark", "50"), TESSERA_OK);
  EXPECT_EQ(tessera_options_check(options), TESSERA_INVALID_ARGUMENT);
  ASSERT_EQ(tessera_options_set(options, "high-watermark", "50"), TESSERA_OK);
  ASSERT_EQ(tessera_options_set(options, "low-watermark", "40"), TESSERA_OK);
  EXPECT_EQ(tessera_options_check(options), TESSERA_OK);
  ASSERT_EQ(tessera_options_set(options, "high-watermark", "10"), TESSERA_OK);
  EXPECT_NE(tessera_allocator_create(options, &allocator), TESSERA_OK);
  EXPECT_NE(std::string(tessera_last_error()), "");
  tessera_options_destroy(options);
}

TEST(CApi, SizesAreThoseOfOptions) {
  std::uint64_t bytes = 7;
  EXPECT_EQ(tessera_parse_size("40GB", &bytes), TESSERA_OK);
  EXPECT_EQ(bytes, 40'000'000'000u);
  EXPECT_EQ(tessera_parse_size("40GiB", &bytes), TESSERA_OK);
  EXPECT_EQ(bytes, std::uint64_t{40} << 30);
  EXPECT_EQ(tessera_parse_size("lots", &bytes), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(bytes, std::uint64_t{40} << 30);
  EXPECT_EQ(tessera_parse_size(nullptr, &bytes), TESSERA_INVALID_ARGUMENT);
}

TEST(CApi, TheNearestWordIsOneOfThoseGiven) {
  const char* const words[] = {"run", "report"};
  EXPECT_EQ(tessera_nearest_word("reprot", words, 2), words[1]);
  EXPECT_EQ(tessera_nearest_word("run", words, 2), words[0]);
  EXPECT_EQ(tessera_nearest_word("reprot", words, 1), nullptr);
  EXPECT_EQ(tessera_nearest_word("run", nullptr, 0), nullptr);
  EXPECT_EQ(tessera_nearest_word(nullptr, words, 2), nullptr);
}

TEST(CApi, DestroyingNullSucceeds) {
  tessera_options_destroy(nullptr);
  tessera_allocator_destroy(nullptr);
  tessera_use_end(nullptr, nullptr);
}

}  // namespace
