// Programs that map their memory themselves: what fills a reservation is managed, all else works as without Tessera.
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

std::string mapping(const std::string& how, unsigned mebibytes) {
  return "./mapped_memory preload_kernels.so " + how + " " + std::to_string(std::uint64_t{mebibytes} << 20);
}
std::string misuse(const std::string& how) { return "./mapped_misuse preload_kernels.so " + how; }

Environment device_of(const std::string& memory, Environment more = {}) {
  more["TESSERA_SOFTWARE_MEMORY"] = memory;
  more.try_emplace("TESSERA_HOST_MEMORY", "256MiB");
  return more;
}

nlohmann::json stats_of(const std::string& command, Environment environment) {
  const std::string path = scratch("stats.json");
  environment["TESSERA_STATS"] = path;
  const Outcome outcome = run_preloaded(command, environment);
  EXPECT_EQ(outcome.output, "ok\n") << command << ": " << outcome.message;
  EXPECT_EQ(outcome.message, "") << command;
  return nlohmann::json::parse(contents(path), nullptr, false);
}

// 96 MiB on a device that has less: without Tessera there is no room.
void expect_larger_than_the_device(const std::string& how) {
  const std::string command = mapping(how, 96);
  EXPECT_EQ(run(command, device_of("256MiB")).output, "ok\n") << how;
  const Outcome alone = run(command, device_of("64MiB"));
  EXPECT_NE(alone.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << how << alone.message;
  const Outcome preloaded = run_preloaded(command, device_of("64MiB"));
  EXPECT_EQ(preloaded.output, "ok\n") << how << ": " << preloaded.message;
  EXPECT_EQ(preloaded.message, "") << how;
}

TEST(PreloadMapping, SleepModesOfEnginesAreLargerThanTheDevice) { expect_larger_than_the_device("engine"); }

TEST(PreloadMapping, SaversOfTrainingMemoryAreLargerThanTheDevice) { expect_larger_than_the_device("saver"); }

TEST(PreloadMapping, BytesStayWithAHandleThatIsMappedElsewhere) { expect_larger_than_the_device("moves"); }

TEST(PreloadMapping, AGraphFindsWhatIsMappedAtItsAddressesAgain) { expect_larger_than_the_device("graph"); }

TEST(PreloadMapping, AnArenaOfMostOfTheDeviceLeavesRoomForOthers) {
  const Outcome alone = run(mapping("arena", 96), device_of("64MiB"));
  EXPECT_NE(alone.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << alone.message;
  const Outcome preloaded = run_preloaded(mapping("arena", 96), device_of("64MiB"));
  EXPECT_EQ(preloaded.output, "ok\n") << preloaded.message;
  EXPECT_EQ(preloaded.message, "");
}

// As without Tessera: the driver's, in addresses of its own or of the heap.
TEST(PreloadMapping, AReservationThatGrowsIsTheDriversAndWorks) {
  for (const char* const how : {"segments", "pages"}) {
    const std::string command = mapping(how, 48);
    EXPECT_EQ(run(command, device_of("128MiB")).output, "ok\n") << how;
    const Outcome preloaded = run_preloaded(command, device_of("128MiB"));
    EXPECT_EQ(preloaded.output, "ok\n") << how << ": " << preloaded.message;
    EXPECT_EQ(preloaded.message, "") << how;
    const Outcome refused = run_preloaded(mapping(how, 160), device_of("128MiB"));
    EXPECT_NE(refused.message.find("create(&parts[i].handle, parts[i].bytes): CUDA_ERROR_OUT_OF_MEMORY"),
              std::string::npos)
        << how << ": " << refused.message;
  }
}

TEST(PreloadMapping, WhatABlockCannotDoIsDoneByTheDriver) {
  for (const char* const how : {"export", "twice", "part", "release"}) {
    EXPECT_EQ(run(misuse(how), device_of("64MiB")).output, "ok\n") << how;
    const Outcome preloaded = run_preloaded(misuse(how), device_of("64MiB"));
    EXPECT_EQ(preloaded.output, "ok\n") << how << ": " << preloaded.message;
    EXPECT_EQ(preloaded.message, "") << how;
  }
}

TEST(PreloadMapping, WrongCallsAreRefusedAsTheDriverRefusesThem) {
  const Outcome alone = run(misuse("errors"), device_of("64MiB"));
  EXPECT_EQ(alone.exit_code, 0) << alone.message;
  const Outcome preloaded = run_preloaded(misuse("errors"), device_of("64MiB"));
  EXPECT_EQ(preloaded.output, alone.output);
  EXPECT_EQ(preloaded.message, alone.message);
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
