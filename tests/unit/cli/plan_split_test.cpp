#include "plan_split.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

struct Example {
  SplitInput input;
  FoundSplit split;

  explicit Example(bool trace) {
    input.trace = trace;
    input.nodes.resize(4);
    input.names = {0, 1, 2, 3};
    input.accelerators = 2;
    input.cpus = 1;
    split = {7.5, {0, 0, 0, 2}, {{7.5, 100, 3}, {0, 0, 0}, {3, 5, 1}}};
  }
};

TEST(PlanSplit, DevicesWithoutWorkAreLeftOut) {
  const Example example(false);
  const auto json = nlohmann::json::parse(split_json(example.input, example.split));
  EXPECT_EQ(json["max_load"], 7.5);
  ASSERT_EQ(json["parts"].size(), 2U);
  EXPECT_EQ(json["parts"][0]["nodes"], nlohmann::json({0, 1, 2}));
  EXPECT_EQ(json["parts"][1]["device"], "cpu");
}

TEST(PlanSplit, APartOfATraceNamesItsFirstAndLastOperation) {
  const Example example(true);
  const auto json = nlohmann::json::parse(split_json(example.input, example.split));
  EXPECT_EQ(json["parts"][0]["operations"], nlohmann::json({0, 2}));
  EXPECT_NE(split_table(example.input, example.split).find("operations 0 to 2"), std::string::npos);
}

}  // namespace
