#include "plan_arena.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include <nlohmann/json.hpp>

namespace {

std::string complaint(const std::string& text) {
  std::istringstream stream(text);
  std::vector<tessera_plan_record> records;
  return read_records(stream, records);
}

TEST(PlanArena, ColumnsAreFoundByTheirNames) {
  std::istringstream text("name,last,bytes,first\nx,3,64,2\r\n\ny,4,32,3\n");
  std::vector<tessera_plan_record> records;
  EXPECT_EQ(read_records(text, records), "");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].bytes, 64U);
  EXPECT_EQ(records[0].first, 2U);
  EXPECT_EQ(records[1].last, 4U);
}

TEST(PlanArena, ErrorsNameTheirLine) {
  EXPECT_EQ(complaint(""), "line 1: the file is empty");
  EXPECT_EQ(complaint("bytes,first\n"), "line 1: must name the columns bytes,first,last");
  EXPECT_EQ(complaint("bytes,first,last\n1,2,3\n1,-2,3\n"), "line 3: first is not a whole number");
  EXPECT_EQ(complaint("bytes,first,last\n1,2\n"), "line 2: last is not a whole number");
  EXPECT_EQ(complaint("bytes,first,last\n1e3,2,3\n"), "line 2: bytes is not a whole number");
}

TEST(PlanArena, JsonHasExactlyTheKeysThatAreDocumented) {
  const nlohmann::ordered_json json = nlohmann::ordered_json::parse(arena_json({}));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"naive_bytes", "offset_lower_bound", "offset_greedy_by_size",
                                            "offset_greedy_by_breadth", "offset_best_fit", "shared_lower_bound",
                                            "shared_greedy_by_size", "shared_improved", "shared_by_breadth"}));
}

TEST(PlanArena, TheTableSetsPlansBesideTheirBound) {
  tessera_arena_figures figures{};
  figures.offset_lower_bound = 100;
  figures.offset_best_fit = 105;
  EXPECT_NE(arena_table(figures).find("1.050 x bound"), std::string::npos);
}

}  // namespace
