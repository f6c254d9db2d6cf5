// Blocks named by launches and tables are found wherever the driver places reservations, and no others are needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

// Reservations at low addresses, as on drivers that ignore hints, and drivers that ignore the alignment.
const std::vector<Environment> kPlaces = {
    {}, {{"TESSERA_SOFTWARE_HINTS", "0"}}, {{"TESSERA_SOFTWARE_HINTS", "0"}, {"TESSERA_SOFTWARE_ALIGNS", "0"}}};

TEST(PreloadAddresses, NumbersLikeAddressesCauseNoOutOfMemory) {
  const std::string command = "./number_structs preload_kernels.so";
  EXPECT_EQ(run(command, {{"TESSERA_SOFTWARE_MEMORY", "2GiB"}}).output, "ok\n");
  for (Environment place : kPlaces) {
    place["TESSERA_SOFTWARE_MEMORY"] = "64MiB";
    place["TESSERA_DEVICE_MEMORY"] = "40MiB";
    place["TESSERA_HOST_MEMORY"] = "2GiB";
    const Outcome ran = run_preloaded(command, place);
    EXPECT_EQ(ran.output, "ok\n") << ran.message;
    EXPECT_EQ(ran.message, "");
  }
}

void expect_ok_wherever_blocks_lie(const std::string& command, const std::string& memory) {
  for (Environment place : kPlaces) {
    place["TESSERA_SOFTWARE_MEMORY"] = memory;
    place["TESSERA_LOG_LEVEL"] = "error";  // exposures are logged as warnings
    const Outcome ran = run_preloaded(command, place);
    EXPECT_EQ(ran.output, "ok\n");
    EXPECT_EQ(ran.message, "");
  }
}

TEST(PreloadAddresses, FindsAddressesInAllPlaces) {
  expect_ok_wherever_blocks_lie("./hidden_addresses preload_kernels.so", "22MiB");
  expect_ok_wherever_blocks_lie("./launches preload_kernels.so", "11MiB");
  expect_ok_wherever_blocks_lie("./large_graph preload_kernels.so", "10MiB");
}

// Without host frames, so that no launch is too large and runs all the same.
TEST(PreloadAddresses, EntriesLeftOverFromEarlierLaunchesAreNotFetched) {
  for (Environment place : kPlaces) {
    place["TESSERA_SOFTWARE_MEMORY"] = "26MiB";
    place["TESSERA_DEVICE_MEMORY"] = "20MiB";
    place["TESSERA_SOFTWARE_HOST_FRAMES"] = "0";
    const Outcome ran = run_preloaded("./leftover_entries preload_kernels.so", place);
    EXPECT_EQ(ran.output, "ok\n") << ran.message;
    EXPECT_EQ(ran.message, "");
  }
}

TEST(PreloadAddresses, ATableInASharedSegmentIsFoundByItsUsers) {
  expect_ok_wherever_blocks_lie("./shared_segment preload_kernels.so", "26MiB");
  expect_ok_wherever_blocks_lie("./shared_segment preload_kernels.so before", "26MiB");
}

// By demand and by plan, as policies differ in eviction order.
void expect_found_where_it_was_handed_on(const std::string& way) {
  const std::string command = "./handed_addresses handed_kernels.so " + way;
  EXPECT_EQ(run(command, {{"TESSERA_SOFTWARE_MEMORY", "256MiB"}}).output, "ok\n");
  for (const char* policy : {"auto", "recency", "lru"}) {
    const Outcome ran = run_preloaded(
        command,
        {{"TESSERA_SOFTWARE_MEMORY", "26MiB"}, {"TESSERA_DEVICE_MEMORY", "16MiB"}, {"TESSERA_POLICY", policy}});
    EXPECT_EQ(ran.output, "ok\n") << policy;
    EXPECT_EQ(ran.message, "") << policy;
  }
}

TEST(PreloadAddresses, FindsAddressesWrittenByAPreviousKernel) { expect_found_where_it_was_handed_on("grouped"); }

TEST(PreloadAddresses, FindsATableThatAKernelMakesFromOneAddress) { expect_found_where_it_was_handed_on("range"); }

TEST(PreloadAddresses, FindsATableThatAKernelJoins) { expect_found_where_it_was_handed_on("joined"); }

TEST(PreloadAddresses, FindsATableThatAGraphNodeCopies) { expect_found_where_it_was_handed_on("graph"); }

// A table and eight blocks of 2 MiB, and six others.
Outcome run_graph_table(const std::string& way, const std::string& device_memory) {
  const std::string command = "./graph_tables handed_kernels.so " + way;
  EXPECT_EQ(run(command, {{"TESSERA_SOFTWARE_MEMORY", "256MiB"}}).output, "ok\n");
  return run_preloaded(command, {{"TESSERA_SOFTWARE_MEMORY", "40MiB"},
                                 {"TESSERA_DEVICE_MEMORY", device_memory},
                                 {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}});
}

TEST(PreloadAddresses, AGraphCopyingATableIsOutOfMemoryWhenItsBlocksDoNotFit) {
  for (const char* way : {"table", "parts"}) {
    EXPECT_EQ(run_graph_table(way, "18MiB").output, "ok\n") << way;
    const Outcome ran = run_graph_table(way, "16MiB");
    EXPECT_EQ(ran.output, "out of memory, then ok\n") << way << ": " << ran.message;
    EXPECT_THAT(ran.message, testing::HasSubstr("uses 18 MiB at once, but device memory has 16 MiB")) << way;
  }
}

TEST(PreloadAddresses, AGraphCopyingUncertainAddressesIsNotOutOfMemory) {
  const Outcome ran = run_graph_table("numbers", "10MiB");
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
}

TEST(PreloadAddresses, EvictsABlockOnlyAfterAKernelThatUsesItUnseen) { expect_found_where_it_was_handed_on("running"); }

// On a link so slow that the kernels run during the copy, on all but even slower machines.
TEST(PreloadAddresses, UnseenWritesDuringAnEvictionAreKeptOrReported) {
  const std::string command = "./late_writes handed_kernels.so";
  EXPECT_EQ(run(command, {{"TESSERA_SOFTWARE_MEMORY", "256MiB"}}).output, "ok\n");
  for (const char* policy : {"auto", "recency", "lru"}) {
    const Outcome ran = run_preloaded(command, {{"TESSERA_SOFTWARE_MEMORY", "26MiB"},
                                                {"TESSERA_SOFTWARE_BANDWIDTH", "3MiB"},
                                                {"TESSERA_DEVICE_MEMORY", "10MiB"},
                                                {"TESSERA_POLICY", policy}});
    EXPECT_THAT(ran.output, testing::AnyOf("ok\n", "told\n")) << policy << ran.message;
  }
}

// On a link so slow that the kernel is launched during the copy, on all but even slower machines.
TEST(PreloadAddresses, UnseenWritesDuringAPrefetchAreKeptOrReported) {
  const std::string command = "./early_writes handed_kernels.so";
  EXPECT_EQ(run(command, {{"TESSERA_SOFTWARE_MEMORY", "256MiB"}}).output, "ok\n");
  for (const char* policy : {"auto", "recency", "lru"}) {
    const Outcome ran = run_preloaded(command, {{"TESSERA_SOFTWARE_MEMORY", "64MiB"},
                                                {"TESSERA_SOFTWARE_BANDWIDTH", "20MiB"},
                                                {"TESSERA_DEVICE_MEMORY", "32MiB"},
                                                {"TESSERA_POLICY", policy}});
    EXPECT_THAT(ran.output, testing::AnyOf("ok\n", "told\n")) << policy << ran.message;
  }
}

// Its copy in host memory was valid when it came, and says nothing of what was written since.
TEST(PreloadAddresses, UnseenWritesAfterAWakeOrPrefetchAreKept) {
  for (const char* way : {"sleep", "prefetch"}) {
    const std::string command = std::string("./written_after_wake handed_kernels.so ") + way;
    EXPECT_EQ(run(command, {{"TESSERA_SOFTWARE_MEMORY", "256MiB"}}).output, "ok\n");
    for (const char* policy : {"auto", "recency", "lru"}) {
      for (const char* fingerprints : {"on", "off"}) {
        const Outcome ran = run_preloaded(command, {{"TESSERA_SOFTWARE_MEMORY", "36MiB"},
                                                    {"TESSERA_DEVICE_MEMORY", "18MiB"},
                                                    {"TESSERA_FINGERPRINTS", fingerprints},
                                                    {"TESSERA_POLICY", policy}});
        EXPECT_EQ(ran.output, "ok\n") << way << ", " << policy << ", fingerprints " << fingerprints << ": "
                                      << ran.message;
      }
    }
  }
}

// Twelve blocks of 2 MiB, of which two are named at a time.
const Environment kSixBlocks = {{"TESSERA_SOFTWARE_MEMORY", "20MiB"}, {"TESSERA_DEVICE_MEMORY", "12MiB"}};

void expect_kept_as_long_as_it_is_named(const std::string& way) {
  const std::string command = "./outside_addresses outside_kernels.so " + way;
  Environment place = kSixBlocks;
  place["TESSERA_STATS"] = scratch(way + ".json");
  const Outcome ran = run_preloaded(command, place);
  EXPECT_EQ(ran.output, "ok\n") << way << ": " << ran.message;
  const auto report = nlohmann::json::parse(contents(place["TESSERA_STATS"]));
  const int named = way == "cleared" ? 0 : 2;
  EXPECT_EQ(report["exposed_bytes_by_reason"].value("pointer outside the heap", 0), named * (2 << 20)) << way;
}

TEST(PreloadAddresses, ABlockNamedByAGlobalIsEvictableOnceOverwritten) {
  for (const char* way : {"rotate", "device", "batch", "cleared"}) expect_kept_as_long_as_it_is_named(way);
}

TEST(PreloadAddresses, ABlockNamedByAGlobalThatAGraphWritesIsKept) { expect_kept_as_long_as_it_is_named("graph"); }

// This fails if words are read only at the time of the copy call.
TEST(PreloadAddresses, RereadsATableAfterTheWorkThatFillsIt) {
  for (const std::string way : {"host", "callback", "global", "back", "after"}) {
    Environment place = kSixBlocks;
    if (way == "after") place = {{"TESSERA_DEVICE_MEMORY", "40MiB"}};  // nothing has to be fetched
    place["TESSERA_LOG_LEVEL"] = "error";  // the global's last target is logged as a warning
    const Outcome ran = run_preloaded("./late_tables outside_kernels.so " + way, place);
    EXPECT_EQ(ran.output, "ok\n") << way;
    EXPECT_EQ(ran.message, "") << way;
  }
}

TEST(PreloadAddresses, RereadsATableThatGraphNodesWriteInTurn) {
  const Outcome ran = run_preloaded("./late_tables outside_kernels.so turns", kSixBlocks);
  EXPECT_EQ(ran.output, "ok\n");
  EXPECT_EQ(ran.message, "");
}

// Also where blocks lie at low addresses.
TEST(PreloadAddresses, AnAddressBeforeABlockMeansThatBlock) {
  for (const char* way : {"section", "one"}) {
    for (Environment place : kPlaces) {
      place.insert(kSixBlocks.begin(), kSixBlocks.end());
      const Outcome ran = run_preloaded(std::string("./outside_addresses outside_kernels.so ") + way, place);
      EXPECT_EQ(ran.output, "ok\n") << way << ": " << ran.message;
      EXPECT_EQ(ran.message, "") << way;
    }
  }
}

TEST(PreloadAddresses, ACopyToAGlobalIsOutOfMemoryBeforeTheLaunch) {
  const Outcome ran = run_preloaded("./outside_addresses outside_kernels.so full", kSixBlocks);
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
  EXPECT_NE(ran.message.find("tessera: pointer outside the heap: of 12 MiB of device memory"), std::string::npos)
      << ran.message;
}

}  // namespace
}  // namespace tessera::programs
