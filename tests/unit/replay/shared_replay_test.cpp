#include "lab/replay/shared_replay.hpp"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include "free_calls.hpp"
#include "lab/replay/shared_replay_report.hpp"
#include "trace_text.hpp"

namespace tessera {
namespace {

constexpr Bytes kPart = 32_MiB;
constexpr std::uint64_t kOperation = 1'000'000;
constexpr std::uint64_t kParts = 8;

// Uses so many blocks in each iteration, a millisecond each.
Trace program_of(std::uint64_t blocks) {
  std::string text;
  for (std::uint64_t i = 1; i <= blocks; ++i) text += alloc_line(i, kPart);
  text += "{\"t\":\"mark\",\"kind\":\"iteration\",\"n\":1}\n";
  for (std::uint64_t i = 1; i <= blocks; ++i) text += op_line(kOperation, "w", i);
  return trace_of(text);
}

// A link that takes as long for a block as three operations on it.
SharedReplayOptions device_for(std::uint64_t blocks, std::uint32_t iterations) {
  SharedReplayOptions options;
  options.replay = test::with_free_calls();
  options.replay.policy = "lru";
  options.replay.device_memory = kPart * blocks;
  options.replay.h2d = options.replay.d2h = kPart.value() * 1000 / 3;
  options.replay.iterations = iterations;
  return options;
}

SharedReplayResult shared(std::span<const Trace> traces, const SharedReplayOptions& options) {
  auto result = replay_shared(traces, options);
  EXPECT_TRUE(result.is_ok()) << result.status().to_string();
  return result.is_ok() ? result.take() : SharedReplayResult();
}

const SharedWay& way_of(const SharedReplayResult& result, std::string_view name) {
  for (const SharedWay& way : result.ways) {
    if (way.name == name) return way;
  }
  ADD_FAILURE() << name;
  return result.ways.front();
}

TEST(SharedReplay, ProgramsThatFitTogetherTakeAsLongAsOneAfterTheOther) {
  const Trace traces[] = {program_of(kParts / 2), program_of(kParts / 2)};
  const SharedReplayResult result = shared(traces, device_for(kParts, 50));
  for (const SharedWay& way : result.ways) {
    ASSERT_TRUE(way.all_well()) << way.name;
    EXPECT_NEAR(way.throughput, 1, 0.01) << way.name;
    EXPECT_EQ(way.programs[0].result.stats.evictions, 0U) << way.name;
  }
}

// Together they use 7/4 of the device: what one fetches replaces what the other needs next.
TEST(SharedReplay, TurnsSaveProgramsFromReplacingEachOther) {
  const Trace traces[] = {program_of(kParts - 1), program_of(kParts - 1)};
  SharedReplayOptions options = device_for(kParts, 800);
  options.time_slice = 500;
  const SharedReplayResult result = shared(traces, options);
  const SharedWay& turns = way_of(result, "time-slice 500");
  for (const SharedWay& way : result.ways) ASSERT_TRUE(way.all_well()) << way.name;
  EXPECT_GE(turns.throughput, 0.8);
  EXPECT_LT(way_of(result, "share off").throughput, 0.8);
  EXPECT_LT(way_of(result, "time-slice 0").throughput, 0.8);
  for (const SharedProgram& program : turns.programs) {
    EXPECT_GT(program.result.turns, 1U);
    EXPECT_GT(program.result.waited, Nanoseconds());
  }
}

// Each iteration allocates a part of its memory in many blocks and frees them. Given only what it has at the moment, a
// program would wait for the other one with each of them.
TEST(SharedReplay, ATurnHasRoomForWhatTheProgramAllocatesInIt) {
  constexpr std::uint64_t kKept = kParts / 2, kSmall = 48;
  constexpr Bytes kSmallPart = kPart * 3 / kSmall;
  std::string text;
  for (std::uint64_t i = 1; i <= kKept; ++i) text += alloc_line(i, kPart);
  text += "{\"t\":\"mark\",\"kind\":\"iteration\",\"n\":1}\n";
  for (std::uint64_t i = 1; i <= kKept; ++i) text += op_line(kOperation, "w", i);
  for (std::uint64_t i = kKept + 1; i <= kKept + kSmall; ++i) {
    text += alloc_line(i, kSmallPart) + op_line(kOperation / 16, "w", i);
  }
  for (std::uint64_t i = kKept + 1; i <= kKept + kSmall; ++i) {
    text += fmt::format("{{\"t\":\"free\",\"id\":{}}}\n", i);
  }
  const Trace traces[] = {trace_of(text), trace_of(text)};
  SharedReplayOptions options = device_for(kParts, 600);
  options.time_slice = 500;
  const SharedReplayResult result = shared(traces, options);
  EXPECT_GE(way_of(result, "time-slice 500").throughput, 0.8);
}

// A program that has just started allocates what it uses in many blocks. Given only what it wants at the moment, it
// would wait for the other one with each of them.
TEST(SharedReplay, AProgramThatGrowsInItsTurnIsGivenMoreThanItWants) {
  constexpr std::uint64_t kMany = 128, kUses = 32;  // more than a program launches ahead
  std::string text;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    text += alloc_line(i, kPart);
    for (std::uint64_t use = 0; use < kUses; ++use) text += op_line(kOperation / kUses, "w", i);
  }
  const Trace traces[] = {trace_of(text), trace_of(text)};
  SharedReplayOptions options = device_for(kMany * 8 / 7, 1);
  options.replay.h2d = options.replay.d2h = kPart.value() * 10'000;
  const SharedReplayResult result = shared(traces, options);
  EXPECT_GE(way_of(result, "time-slice 2000").throughput, 0.8);
}

// A turn begins where few blocks are alive, and the program fetches them soon: what the change costs is known only when
// it needs the memory that the other one has to give back.
TEST(SharedReplay, ATurnLastsLongerWhereTheChangeCostsMuch) {
  constexpr std::uint64_t kKept = kParts - 2, kPasses = 40;
  std::string text = alloc_line(1, kPart);
  text += "{\"t\":\"mark\",\"kind\":\"iteration\",\"n\":1}\n";
  for (std::uint64_t i = 2; i <= kKept; ++i) text += alloc_line(i, kPart);
  for (std::uint64_t pass = 0; pass < kPasses; ++pass) {
    for (std::uint64_t i = 1; i <= kKept; ++i) text += op_line(kOperation, "w", i);
  }
  for (std::uint64_t i = 2; i <= kKept; ++i) text += fmt::format("{{\"t\":\"free\",\"id\":{}}}\n", i);
  for (std::uint64_t i = 0; i < kPasses; ++i) text += op_line(kOperation, "w", 1);
  const Trace traces[] = {trace_of(text), trace_of(text)};
  SharedReplayOptions options = device_for(kParts, 50);
  options.replay.h2d = options.replay.d2h = options.replay.h2d / 40;
  options.time_slice = 500;
  const SharedReplayResult result = shared(traces, options);
  const SharedWay& turns = way_of(result, "time-slice 500");
  EXPECT_GE(turns.throughput, 0.8);
  EXPECT_GT(turns.programs[0].result.turns + turns.programs[1].result.turns, 2U);
}

TEST(SharedReplay, TwoRecordedProgramsTakeTheSameBytesTwice) {
  std::vector<Trace> traces;
  for (const char* const name : {"resnet50-b32", "bert-base-b16"}) {
    auto trace = read_trace(fmt::format("{}/bench/traces/recorded/{}.jsonl.zst", TESSERA_TEST_SOURCE_DIR, name));
    if (trace.status().code() == Code::kNotSupported) GTEST_SKIP() << trace.status().to_string();
    ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
    traces.push_back(trace.take());
  }
  SharedReplayOptions options;
  options.replay.policy = "lru";
  options.replay.device_memory = 5_GiB;
  options.replay.iterations = 2;
  const std::string json = shared_replay_json(traces, shared(traces, options));
  EXPECT_EQ(json, shared_replay_json(traces, shared(traces, options)));
}

TEST(SharedReplay, ALimitHolds) {
  const Trace traces[] = {program_of(kParts / 2), program_of(kParts / 2)};
  SharedReplayOptions options = device_for(kParts, 20);
  ASSERT_TRUE(options.set("device-limits", "off,96MiB").is_ok());
  const SharedReplayResult result = shared(traces, options);
  EXPECT_EQ(result.alone[1].stats.device_peak, (96_MiB).value());
  for (const SharedWay& way : result.ways) {
    EXPECT_EQ(way.programs[0].result.stats.device_peak, (kPart * (kParts / 2)).value()) << way.name;
    EXPECT_LE(way.programs[1].result.stats.device_peak, (96_MiB).value()) << way.name;
  }
}

TEST(SharedReplay, AHeavierProgramHasMoreOfTheDeviceAndEndsSooner) {
  const Trace traces[] = {program_of(kParts - 1), program_of(kParts - 1)};
  SharedReplayOptions options = device_for(kParts, 100);
  ASSERT_TRUE(options.set("weights", "300,100").is_ok());
  const SharedReplayResult result = shared(traces, options);
  const SharedWay& way = way_of(result, "time-slice 0");
  ASSERT_TRUE(way.all_well());
  EXPECT_LT(way.programs[0].ended, way.programs[1].ended);
}

TEST(SharedReplay, AProgramThatFailsEndsAloneAndSaysWhy) {
  // One operation that uses more than half of the device.
  std::string text;
  for (std::uint64_t i = 1; i < kParts; ++i) text += alloc_line(i, kPart);
  text += "{\"t\":\"op\",\"name\":\"op\",\"ns\":1000000,\"r\":[1,2,3,4,5,6]}\n";
  const Trace traces[] = {trace_of(text), trace_of(text)};
  SharedReplayOptions options = device_for(kParts, 1000);
  options.replay.host_frames = false;
  const SharedReplayResult result = shared(traces, options);
  EXPECT_TRUE(way_of(result, "time-slice 2000").all_well());
  const SharedWay& way = way_of(result, "time-slice 0");
  ASSERT_FALSE(way.all_well());
  EXPECT_EQ(way.throughput, 0);
  const std::string json = shared_replay_json(traces, result);
  EXPECT_NE(json.find("\"failure\":\"event "), std::string::npos) << json;
}

TEST(SharedReplay, WhatDoesNotSuitIsRefused) {
  const Trace traces[] = {program_of(1), program_of(1)};
  const auto refused = [&](std::span<const Trace> given, const SharedReplayOptions& options) {
    return replay_shared(given, options).status().code() == Code::kInvalidArgument;
  };
  SharedReplayOptions options;
  EXPECT_TRUE(refused(std::span(traces).first(1), options));
  options.weights = {1, 2, 3};
  EXPECT_TRUE(refused(traces, options));
  options.weights.clear();
  options.limits = {1_GiB};
  EXPECT_TRUE(refused(traces, options));
  options.limits.clear();
  options.replay.peer_memory = 1_GiB;
  EXPECT_TRUE(refused(traces, options));
  options.replay.peer_memory = {};
  options.replay.timeline = "t.json";
  EXPECT_TRUE(refused(traces, options));
  const Trace wide =
      trace_of("{\"t\":\"alloc\",\"id\":1,\"bytes\":1,\"device\":1}\n{\"t\":\"op\",\"device\":1,\"r\":[1]}\n");
  const Trace two[] = {program_of(1), wide};
  EXPECT_TRUE(refused(two, SharedReplayOptions()));
}

TEST(SharedReplayOptions, AreCheckedAsTheyAreSet) {
  SharedReplayOptions options;
  EXPECT_TRUE(options.set("time-slice", "500").is_ok());
  EXPECT_EQ(options.time_slice, 500U);
  EXPECT_TRUE(options.set("weights", "1,10000").is_ok());
  EXPECT_EQ(options.weights, (std::vector<std::uint32_t>{1, 10000}));
  EXPECT_TRUE(options.set("device-limits", "4GiB,off").is_ok());
  EXPECT_EQ(options.limits, (std::vector<Bytes>{4_GiB, Bytes()}));
  EXPECT_TRUE(options.set("h2d", "1e9").is_ok());
  EXPECT_EQ(options.replay.h2d, 1'000'000'000U);
  using Words = std::pair<const char*, const char*>;
  for (const auto& [name, value] : {Words{"time-slice", "0"},
                                    {"time-slice", "2s"},
                                    {"time-slice", "9999999"},
                                    {"weights", "1,0"},
                                    {"weights", "1,10001"},
                                    {"weights", "1,,2"},
                                    {"weights", ""},
                                    {"device-limits", "0"},
                                    {"device-limits", "1GiB,x"},
                                    {"device-limits", ""}}) {
    EXPECT_EQ(options.set(name, value).code(), Code::kInvalidArgument) << name << " " << value;
  }
  EXPECT_EQ(options.set("no-such", "1").code(), Code::kNotFound);
  EXPECT_EQ(options.weights.size(), 2U) << "as before";
}

}  // namespace
}  // namespace tessera
