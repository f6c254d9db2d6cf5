#include "tessera/fuzz.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

TEST(FuzzApi, RunsASeedWholeAndInPart) {
  const char* json = nullptr;
  ASSERT_EQ(tessera_fuzz_run(1, 50, nullptr, &json), TESSERA_OK) << tessera_fuzz_last_error();
  EXPECT_EQ(nlohmann::json::parse(json).at("played"), 50);
  ASSERT_EQ(tessera_fuzz_run(1, 50, "3-5", &json), TESSERA_OK);
  EXPECT_EQ(nlohmann::json::parse(json).at("played"), 3);
}

TEST(FuzzApi, RefusesWhatItCannotMean) {
  const char* json = nullptr;
  EXPECT_EQ(tessera_fuzz_run(1, 50, "50", &json), TESSERA_INVALID_ARGUMENT);
  EXPECT_STRNE(tessera_fuzz_last_error(), "");
  EXPECT_EQ(tessera_fuzz_run(1, 50, "", nullptr), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
