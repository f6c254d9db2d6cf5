// Programs that map their memory themselves: what fills a reservation is managed, all else works as without Tessera.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

std::string mapping(const std::string& how, unsigned mebibytes) {
  return "./mapped_memory preload_kernels.so " + how + " " + std::to_string(std::uint64_t{mebibytes} << 20);
}
std::string segments(const std::string& how, unsigned mebibytes) {
  return "./mapped_segments preload_kernels.so " + how + " " + std::to_string(std::uint64_t{mebibytes} << 20);
}
std::string pages(const std::string& how, unsigned mebibytes) {
  return "./mapped_pages preload_kernels.so " + how + " " + std::to_string(std::uint64_t{mebibytes} << 20);
}
std::string misuse(const std::string& how) { return "./mapped_misuse preload_kernels.so " + how; }

Environment device_of(const std::string& memory, Environment more = {}) {
  more["TESSERA_SOFTWARE_MEMORY"] = memory;
  more.try_emplace("TESSERA_HOST_MEMORY", "256MiB");
  return more;
}

// A launch that uses part of a reservation in host memory is reported, once, and so is one that does not get all of it.
constexpr const char* kInHost = "a launch uses more memory than the device has";
constexpr const char* kNotAll = "it gets what fits around its addresses";

nlohmann::json stats_of(const std::string& command, Environment environment) {
  const std::string path = scratch("stats.json");
  environment["TESSERA_STATS"] = path;
  const Outcome outcome = run_preloaded(command, environment);
  EXPECT_EQ(outcome.output, "ok\n") << command << ": " << outcome.message;
  if (!outcome.message.empty()) {
    const bool host_frames = !environment.contains("TESSERA_SOFTWARE_HOST_FRAMES");
    EXPECT_NE(outcome.message.find(host_frames ? kInHost : kNotAll), std::string::npos) << command << outcome.message;
    EXPECT_EQ(std::count(outcome.message.begin(), outcome.message.end(), '\n'), 1) << outcome.message;
  }
  return nlohmann::json::parse(contents(path), nullptr, false);
}

// 96 MiB on a device that has less: without Tessera there is no room.
void expect_larger_than_the_device(const std::string& command) {
  const std::string& how = command;
  EXPECT_EQ(run(command, device_of("256MiB")).output, "ok\n") << how;
  const Outcome alone = run(command, device_of("64MiB"));
  EXPECT_NE(alone.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << how << alone.message;
  const Outcome preloaded = run_preloaded(command, device_of("64MiB"));
  EXPECT_EQ(preloaded.output, "ok\n") << how << ": " << preloaded.message;
  EXPECT_EQ(preloaded.message, "") << how;
}

TEST(PreloadMapping, SleepModesOfEnginesAreLargerThanTheDevice) {
  expect_larger_than_the_device(mapping("engine", 96));
}

TEST(PreloadMapping, SaversOfTrainingMemoryAreLargerThanTheDevice) {
  expect_larger_than_the_device(mapping("saver", 96));
}

TEST(PreloadMapping, BytesStayWithAHandleThatIsMappedElsewhere) { expect_larger_than_the_device(mapping("moves", 96)); }

TEST(PreloadMapping, AGraphFindsWhatIsMappedAtItsAddressesAgain) {
  expect_larger_than_the_device(mapping("graph", 96));
}

TEST(PreloadMapping, AnArenaOfMostOfTheDeviceLeavesRoomForOthers) {
  const Outcome alone = run(mapping("arena", 96), device_of("64MiB"));
  EXPECT_NE(alone.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << alone.message;
  const Outcome preloaded = run_preloaded(mapping("arena", 96), device_of("64MiB"));
  EXPECT_EQ(preloaded.output, "ok\n") << preloaded.message;
  EXPECT_EQ(preloaded.message, "");
}

TEST(PreloadMapping, AReservationThatGrowsIsManaged) {
  for (const char* const how : {"segments", "pages"}) {
    const std::string command = mapping(how, 48);
    EXPECT_EQ(run(command, device_of("128MiB")).output, "ok\n") << how;
    const auto stats = stats_of(command, device_of("128MiB"));
    EXPECT_GE(stats.at("blocks").at("peak_live_bytes").get<std::uint64_t>(), std::uint64_t{40} << 20) << how;
    EXPECT_EQ(stats.at("blocks").at("live_bytes").get<std::uint64_t>(), 0u) << how;
  }
}

// Each program without Tessera, with ample memory, and with about half of what it uses: where host memory can be mapped
// at its addresses, and where not.
TEST(PreloadMapping, ManyHandlesInAReservationAreLargerThanTheDevice) {
  for (const char* const how : {"torch", "graph", "scratch", "sparse", "pauses", "moves"}) {
    const std::string command = segments(how, 96);
    EXPECT_EQ(run(command, device_of("256MiB")).output, "ok\n") << how;
    const Outcome ample = run_preloaded(command, device_of("256MiB"));
    EXPECT_EQ(ample.output, "ok\n") << how << ": " << ample.message;
    EXPECT_EQ(ample.message, "") << how;
    for (const bool host_frames : {true, false}) {
      Environment less = {{"TESSERA_DEVICE_MEMORY", "48MiB"}};
      if (!host_frames) less["TESSERA_SOFTWARE_HOST_FRAMES"] = "0";
      const auto half = stats_of(command, device_of("256MiB", less));
      EXPECT_GT(half.at("moves").at("evictions").get<std::uint64_t>(), 0u) << how;
      EXPECT_EQ(half.at("blocks").at("live_bytes").get<std::uint64_t>(), 0u) << how;
    }
    const Outcome refused = run(command, device_of("64MiB"));
    EXPECT_NE(refused.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << how << refused.message;
    const Outcome small = run_preloaded(command, device_of("64MiB"));
    EXPECT_EQ(small.output, "ok\n") << how << ": " << small.message;
  }
}

// A kernel that uses more than the device at once. Where host memory cannot be mapped at its addresses it fails, after
// a line.
TEST(PreloadMapping, AKernelFindsInTheHostWhatDoesNotFit) {
  const std::string command = segments("whole", 100);
  EXPECT_EQ(run(command, device_of("256MiB")).output, "ok\n");
  const Outcome partial = run_preloaded(command, device_of("256MiB", {{"TESSERA_DEVICE_MEMORY", "48MiB"}}));
  EXPECT_EQ(partial.output, "ok\n") << partial.message;
  EXPECT_NE(partial.message.find(kInHost), std::string::npos) << partial.message;
  const Outcome backed = run_preloaded(
      command, device_of("256MiB", {{"TESSERA_DEVICE_MEMORY", "48MiB"}, {"TESSERA_UNHINTED_ACCESS", "host-backed"}}));
  EXPECT_EQ(backed.output, "ok\n") << backed.message;
  EXPECT_EQ(backed.message, "");
  const Outcome alone = run_preloaded(
      command, device_of("256MiB", {{"TESSERA_DEVICE_MEMORY", "48MiB"}, {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}}));
  EXPECT_NE(alone.exit_code, 0) << alone.output;
  EXPECT_NE(alone.message.find(kNotAll), std::string::npos) << alone.message;
  EXPECT_NE(alone.message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << alone.message;
}

// A launch gets the first address of a layer of which other pages are mapped: 24 MiB of 96, on a device of 40.
TEST(PreloadMapping, AnAddressWhereNothingIsMappedMeansWhatIsMappedAroundIt) {
  for (const char* const how : {"cache", "graph"}) {
    const Outcome alone = run(pages(how, 96), device_of("128MiB"));
    EXPECT_EQ(alone.output, "ok\n") << how << alone.message;
    for (const bool host_frames : {true, false}) {
      const std::string stats = scratch("s.json");
      Environment less = {{"TESSERA_DEVICE_MEMORY", "40MiB"}, {"TESSERA_STATS", stats}};
      if (!host_frames) less["TESSERA_SOFTWARE_HOST_FRAMES"] = "0";
      const Outcome half = run_preloaded(pages(how, 96), device_of("128MiB", less));
      EXPECT_EQ(half.output, "ok\n") << how << half.message;
      EXPECT_EQ(half.message, "") << how;
      const auto figures = nlohmann::json::parse(contents(stats), nullptr, false);
      EXPECT_GE(figures.at("blocks").at("peak_live_bytes").get<std::uint64_t>(), std::uint64_t{96} << 20) << how;
      EXPECT_EQ(figures.at("outside").at("outside_peak").get<std::uint64_t>(), 0u) << how;
      EXPECT_GT(figures.at("moves").at("evictions").get<std::uint64_t>(), 0u) << how;
    }
  }
}

// Alone it copies weights again and again, as there is no room for them. Under Tessera it is never refused memory.
TEST(PreloadMapping, DynamicWeightsAreCopiedOnce) {
  const std::string command = pages("weights", 96);
  const Outcome alone = run(command, device_of("64MiB"));
  EXPECT_NE(alone.output.find("ok\n"), std::string::npos) << alone.output << alone.message;
  EXPECT_EQ(alone.output.find("12 copies of 12 weights"), std::string::npos) << alone.output;
  for (const bool host_frames : {true, false}) {
    const std::string stats = scratch("s.json");
    Environment environment = {{"TESSERA_STATS", stats}};
    if (!host_frames) environment["TESSERA_SOFTWARE_HOST_FRAMES"] = "0";
    const Outcome preloaded = run_preloaded(command, device_of("64MiB", environment));
    EXPECT_EQ(preloaded.output, "12 copies of 12 weights\nok\n") << preloaded.message;
    EXPECT_EQ(preloaded.message, "");
    const auto figures = nlohmann::json::parse(contents(stats), nullptr, false);
    EXPECT_GE(figures.at("blocks").at("peak_live_bytes").get<std::uint64_t>(), std::uint64_t{96} << 20);
    EXPECT_EQ(figures.at("outside").at("outside_peak").get<std::uint64_t>(), 0u);
  }
}

TEST(PreloadMapping, WhatABlockCannotDoIsDoneByTheDriver) {
  for (const char* const how : {"export", "twice", "part", "release", "beside", "none"}) {
    EXPECT_EQ(run(misuse(how), device_of("64MiB")).output, "ok\n") << how;
    const Outcome preloaded = run_preloaded(misuse(how), device_of("64MiB"));
    EXPECT_EQ(preloaded.output, "ok\n") << how << ": " << preloaded.message;
    EXPECT_EQ(preloaded.message, "") << how;
  }
}

TEST(PreloadMapping, AddressesAreReservedForEitherDevice) {
  const Environment two = device_of("64MiB", {{"TESSERA_SOFTWARE_DEVICES", "2"}});
  EXPECT_EQ(run(misuse("devices"), two).output, "ok\n");
  const Outcome preloaded = run_preloaded(misuse("devices"), two);
  EXPECT_EQ(preloaded.output, "ok\n") << preloaded.message;
  EXPECT_EQ(preloaded.message, "");
}

TEST(PreloadMapping, WrongCallsAreRefusedAsTheDriverRefusesThem) {
  for (const char* const how : {"errors", "segment"}) {
    const Outcome alone = run(misuse(how), device_of("64MiB"));
    EXPECT_EQ(alone.exit_code, 0) << how << alone.message << alone.output;
    const Outcome preloaded = run_preloaded(misuse(how), device_of("64MiB"));
    EXPECT_EQ(preloaded.output, alone.output) << how;
    EXPECT_EQ(preloaded.message, alone.message) << how;
  }
}

// Random calls on a device that has room for a part of what they make, and where little has to move.
TEST(PreloadMapping, RandomCallsGetTheAnswersOfADriver) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const std::string command = "./mapped_random preload_kernels.so " + std::to_string(seed) + " 400";
    const Outcome alone = run(command, device_of("256MiB"));
    EXPECT_EQ(alone.exit_code, 0) << seed << alone.message << alone.output;
    EXPECT_EQ(alone.output.find("wrong"), std::string::npos) << seed << alone.output;
    for (const char* const memory : {"256MiB", "28MiB"}) {
      const Outcome preloaded = run_preloaded(command, device_of("256MiB", {{"TESSERA_DEVICE_MEMORY", memory}}));
      EXPECT_EQ(preloaded.output, alone.output) << seed << ", " << memory << preloaded.message;
    }
  }
}

TEST(PreloadMapping, StatisticsCountThemAsBlocks) {
  const auto moved = stats_of(mapping("engine", 96), device_of("64MiB"));
  ASSERT_FALSE(moved.is_discarded());
  const auto& blocks = moved.at("blocks");
  EXPECT_GE(blocks.at("peak_live_bytes").get<std::uint64_t>(), std::uint64_t{96} << 20) << blocks.dump();
  EXPECT_EQ(blocks.at("live_bytes").get<std::uint64_t>(), 0u) << blocks.dump();
  EXPECT_EQ(blocks.at("allocations"), blocks.at("frees"));
  EXPECT_GT(moved.at("moves").at("evictions").get<std::uint64_t>(), 0u);
}

}  // namespace
}  // namespace tessera::programs
