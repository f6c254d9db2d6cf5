#include "share_view.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace {

ShareView some_view() {
  tessera_node_program program{};
  program.pid = 42;
  std::strcpy(program.name, "python3");
  program.weight = 200;
  program.held = {64 << 20, 32 << 20, 16 << 20};
  program.wanted = {96 << 20, 32 << 20, 16 << 20};
  program.share = {80 << 20, 48 << 20, 0};
  ShareView view;
  view.budgets = {1 << 30, 2U << 30, 0};
  view.programs = {program, program};
  view.programs[1].pid = 43;
  view.states[42] = "idle";
  view.state_texts[42] = "idle 3m";
  return view;
}

TEST(ShareView, TheTableHasALineForEachProgramAndOneForAll) {
  const std::string table = share_table(some_view());
  EXPECT_NE(
      table.find("      42 python3          idle 3m       200   64.0 MiB / 80.0 MiB   32.0 MiB / 48.0 MiB  16.0 MiB\n"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find("      43 python3          -             200 "), std::string::npos) << table;
  EXPECT_NE(table.find("all together"), std::string::npos);
  EXPECT_NE(table.find("1.00 GiB"), std::string::npos);
  const std::size_t first = table.find('\n');
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1)
    EXPECT_EQ(table.find('\n', at) - at, first);
}

TEST(ShareView, NoProgramIsALine) { EXPECT_EQ(share_table({}), "no program shares the machine's memory\n"); }

TEST(ShareView, JsonHasAllFigures) {
  const auto json = share_json(some_view());
  EXPECT_EQ(json["host_budget"], 1 << 30);
  const auto& one = json["programs"][0];
  EXPECT_EQ(one["pid"], 42);
  EXPECT_EQ(one["name"], "python3");
  EXPECT_EQ(one["state"], "idle");
  EXPECT_EQ(one["weight"], 200);
  EXPECT_EQ(one["host_wanted"], 96 << 20);
  EXPECT_EQ(one["file_share"], 48 << 20);
  EXPECT_EQ(one["written"], 16 << 20);
  EXPECT_TRUE(json["programs"][1]["state"].is_null());
}

}  // namespace
