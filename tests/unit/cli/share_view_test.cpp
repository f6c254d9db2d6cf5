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
  std::strcpy(program.job, "slurm 4711");
  ShareView view;
  view.budgets = {1 << 30, 2U << 30, 0};
  view.programs = {program, program};
  view.programs[1].pid = 43;
  view.programs[1].job[0] = '\0';
  view.states[42] = "idle";
  view.state_texts[42] = "idle 3m";
  return view;
}

TEST(ShareView, TheTableHasALineForEachProgramAndOneForAll) {
  const std::string table = share_table(some_view());
  const std::string line =
      "      42 python3          idle 3m       200   64.0 MiB / 80.0 MiB   32.0 MiB / 48.0 MiB  16.0 MiB slurm 4711";
  EXPECT_NE(table.find(line), std::string::npos) << table;
  EXPECT_NE(table.find("      43 python3          -             200 "), std::string::npos) << table;
  EXPECT_NE(table.find("all together"), std::string::npos);
  EXPECT_NE(table.find("1.00 GiB"), std::string::npos);
  const std::size_t first = table.find('\n');
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1)
    EXPECT_EQ(table.find('\n', at) - at, first);
}

ShareView with_devices() {
  tessera_node_device_program program{};
  std::strcpy(program.device, "00112233445566778899aabbccddeeff");
  program.pid = 42;
  std::strcpy(program.name, "python3");
  program.weight = 200;
  program.active = 1;
  program.turn = TESSERA_NODE_TURN_HAS;
  program.total = 64 << 20;
  program.budget = 60 << 20;
  program.held = 48 << 20;
  program.wanted = 50 << 20;
  program.share = 52 << 20;
  program.limit = 56 << 20;
  program.turns = 3;
  program.turn_left_ns = 700'000'000;
  program.waited_ns = 1'200'000'000;
  ShareView view = some_view();
  view.device_programs = {program, program, program};
  view.device_programs[1].pid = 43;
  view.device_programs[1].turn = TESSERA_NODE_TURN_WAITS;
  view.device_programs[2].device[0] = 'f';
  view.device_programs[2].turn = TESSERA_NODE_TURN_NONE;
  return view;
}

TEST(ShareView, EachDeviceHasATable) {
  const std::string table = share_table(with_devices());
  EXPECT_NE(
      table.find("\ndevice 00112233445566778899aabbccddeeff, 64.0 MiB, of which all together may hold 60.0 MiB\n"),
      std::string::npos)
      << table;
  EXPECT_NE(
      table.find(
          "      42 python3          idle 3m       200   48.0 MiB / 52.0 MiB  56.0 MiB has it      3     1.2 s\n"),
      std::string::npos)
      << table;
  EXPECT_NE(
      table.find(
          "      43 python3          active        200   48.0 MiB / 52.0 MiB  56.0 MiB  waits      3     1.2 s\n"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find("\ndevice f0112233445566778899aabbccddeeff, "), std::string::npos) << table;
  ShareView only_devices = with_devices();
  only_devices.programs.clear();
  EXPECT_NE(share_table(only_devices).find("device 0011"), std::string::npos);
}

TEST(ShareView, JsonHasTheDevices) {
  const auto json = share_json(with_devices())["devices"];
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["device"], "00112233445566778899aabbccddeeff");
  EXPECT_EQ(json[0]["total"], 64 << 20);
  EXPECT_EQ(json[0]["budget"], 60 << 20);
  ASSERT_EQ(json[0]["programs"].size(), 2U);
  const auto& one = json[0]["programs"][0];
  EXPECT_EQ(one["pid"], 42);
  EXPECT_EQ(one["device_held"], 48 << 20);
  EXPECT_EQ(one["device_wanted"], 50 << 20);
  EXPECT_EQ(one["device_share"], 52 << 20);
  EXPECT_EQ(one["device_limit"], 56 << 20);
  EXPECT_EQ(one["active"], true);
  EXPECT_EQ(one["turn"], "has");
  EXPECT_EQ(one["turns"], 3);
  EXPECT_EQ(one["turn_left_ns"], 700'000'000);
  EXPECT_EQ(one["waited_ns"], 1'200'000'000);
  EXPECT_EQ(json[0]["programs"][1]["turn"], "waits");
  EXPECT_EQ(json[1]["programs"][0]["turn"], "none");
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
