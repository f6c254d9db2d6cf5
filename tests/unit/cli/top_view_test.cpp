#include "top_view.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace {

TopRow row(std::uint64_t seconds, std::uint64_t scale) {
  return {42,
          "python3",
          seconds * 1'000'000'000,
          {{"device", {{"device_used", 96 << 20}, {"device_capacity", 128 << 20}}},
           {"moves", {{"bytes_in", scale * (10 << 20)}, {"bytes_out", scale * (20 << 20)}}},
           {"waits", {{"stall_ns", scale * 250'000'000}}},
           {"stall_time_by_cause", {{"copy_in_ns", scale * 50'000'000}, {"work_ns", scale * 200'000'000}}},
           {"uses", {{"launches", scale * 1000}}},
           {"held", {{"exposed_bytes", 2 << 20}}},
           {"outside", {{"outside_bytes", 3 << 20}}}},
          std::nullopt};
}

TEST(TopView, RatesAreDifferencesOverTheTimeBetween) {
  const auto rates = rates_between(row(10, 1), row(12, 3));
  ASSERT_TRUE(rates.has_value());
  EXPECT_DOUBLE_EQ(rates->seconds, 2);
  EXPECT_DOUBLE_EQ(rates->bytes_in, 10 << 20);
  EXPECT_DOUBLE_EQ(rates->bytes_out, 20 << 20);
  EXPECT_DOUBLE_EQ(rates->launches, 1000);
  EXPECT_DOUBLE_EQ(rates->stall_share, 0.25);
  EXPECT_DOUBLE_EQ(rates->stall_share_by_cause.at("copy_in"), 0.05);
  EXPECT_DOUBLE_EQ(rates->stall_share_by_cause.at("work"), 0.2);
  EXPECT_DOUBLE_EQ(rates->file_read, 0);  // a missing figure counts as 0
}

TEST(TopView, ThereAreNoRatesWithoutTimeOrOfAnotherAllocator) {
  EXPECT_FALSE(rates_between(row(10, 1), row(10, 1)).has_value());
  EXPECT_FALSE(rates_between(row(10, 3), row(12, 1)).has_value());
}

TEST(TopView, TheTableHasALineForEachProgram) {
  TopRow known = row(12, 3);
  known.rates = rates_between(row(10, 1), known);
  const std::string table = top_table({known, row(1, 1)});
  EXPECT_NE(table.find("42 python3         active        96.0 MiB / 128 MiB"), std::string::npos) << table;
  EXPECT_NE(table.find("10.0 MiB  20.0 MiB"), std::string::npos) << table;
  EXPECT_NE(table.find("  25% work         2.00 MiB  3.00 MiB\n"), std::string::npos) << table;
  EXPECT_NE(table.find("      - -            2.00 MiB  3.00 MiB\n"), std::string::npos) << table;
  const auto first = table.find('\n');
  EXPECT_EQ(table.find('\n', first + 1) - first, first + 1) << "the columns are not aligned\n" << table;
}

TEST(TopView, AShareOfHostMemoryIsShown) {
  TopRow sharing = row(1, 1);
  EXPECT_TRUE(top_json({sharing})["processes"][0]["host_share"].is_null());
  sharing.host_share = 80 << 20;
  EXPECT_NE(top_table({sharing}).find(" 80.0 MiB "), std::string::npos);
  EXPECT_EQ(top_json({sharing})["processes"][0]["host_share"], 80 << 20);
}

TEST(TopView, SharesOfDevicesAreShown) {
  TopRow sharing = row(1, 1);
  EXPECT_TRUE(top_json({sharing})["processes"][0]["device_shares"].empty());
  tessera_node_device_program device{};
  std::strcpy(device.device, "00112233445566778899aabbccddeeff");
  device.held = 48 << 20;
  device.share = 52 << 20;
  device.limit = 56 << 20;
  sharing.devices = {device};
  EXPECT_NE(top_table({sharing}).find("\n         device 00112233: holds 48.0 MiB of 52.0 MiB, limit 56.0 MiB\n"),
            std::string::npos)
      << top_table({sharing});
  sharing.devices[0].turn = TESSERA_NODE_TURN_WAITS;
  sharing.devices[0].turns = 3;
  sharing.devices[0].waited_ns = 1'200'000'000;
  EXPECT_NE(top_table({sharing}).find(", limit 56.0 MiB, waits for its turn, turns 3, waited 1.2 s\n"),
            std::string::npos)
      << top_table({sharing});
  const auto json = top_json({sharing})["processes"][0]["device_shares"][0];
  EXPECT_EQ(json["device"], "00112233445566778899aabbccddeeff");
  EXPECT_EQ(json["device_held"], 48 << 20);
  EXPECT_EQ(json["turn"], "waits");
}

TEST(TopView, TheStateHasTheTimeSinceTheLastUse) {
  const auto state = [](std::uint64_t seconds, bool asleep) {
    TopRow one = row(1, 1);
    one.stats["idle"] = {{"idle_ns", seconds * 1'000'000'000}, {"asleep", asleep ? 1 : 0}};
    const std::string table = top_table({one});
    const std::size_t at = table.find("python3         ") + 16;
    const std::string json = top_json({one})["processes"][0]["state"];
    EXPECT_EQ(table.substr(at, json.size()), json);
    return table.substr(at, 10);
  };
  EXPECT_EQ(state(1, false), "active    ");
  EXPECT_EQ(state(2, false), "idle 2s   ");
  EXPECT_EQ(state(150, false), "idle 2m   ");
  EXPECT_EQ(state(0, true), "asleep 0s ");
  EXPECT_EQ(state(23 * 3600, true), "asleep 23h");
  EXPECT_EQ(state(50 * 3600, true), "asleep 2d ");
}

TEST(TopView, TagsAreShownBelowTheirProgramLargestFirst) {
  TopRow tagged = row(1, 1);
  auto& tags = tagged.stats["live_bytes_by_tag"];
  tags = {{"untagged", std::uint64_t{1} << 20}};
  EXPECT_EQ(top_table({tagged}), top_table({row(1, 1)})) << "no block has a tag";
  tags["pool 1"] = std::uint64_t{8} << 20;
  tags["pool 2"] = std::uint64_t{0};
  tags["a\033b"] = std::uint64_t{2} << 20;
  EXPECT_NE(top_table({tagged}).find("\n         live: pool 1 8.00 MiB, a?b 2.00 MiB, untagged 1.00 MiB\n"),
            std::string::npos)
      << top_table({tagged});
  for (int i = 3; i < 9; ++i) tags["pool " + std::to_string(i)] = std::uint64_t{9} << 20;
  EXPECT_NE(top_table({tagged}).find("pool 3 9.00 MiB, 3 more\n"), std::string::npos) << top_table({tagged});
}

TEST(TopView, NoProgramIsASentence) {
  EXPECT_EQ(top_table({}), "no program of this user is running under `tessera run`\n");
  EXPECT_EQ(top_json({}).dump(), "{\"processes\":[]}");
}

TEST(TopView, JsonHasTheStatisticsAndTheRates) {
  TopRow known = row(12, 3);
  EXPECT_TRUE(top_json({known})["processes"][0]["rates"].is_null());
  known.rates = rates_between(row(10, 1), known);
  const auto process = top_json({known})["processes"][0];
  EXPECT_EQ(process["pid"], 42);
  EXPECT_EQ(process["stats"]["held"]["exposed_bytes"], 2 << 20);
  EXPECT_EQ(process["rates"]["launches_per_s"], 1000.0);
}

// The kernel keeps 15 bytes of a name, even if they end inside a character.
TEST(TopView, ANameThatEndsInsideACharacterIsPrinted) {
  TopRow cut = row(12, 3);
  cut.name = "a-program-of-\xc3\xa9\xc3";
  const auto process = nlohmann::json::parse(top_json_line({cut}))["processes"][0];
  EXPECT_EQ(process["name"], "a-program-of-\xc3\xa9\xef\xbf\xbd");
}

}  // namespace
