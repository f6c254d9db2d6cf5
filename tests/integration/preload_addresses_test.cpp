// What launches and tables name is found wherever the driver puts reservations, and nothing else is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

// Where reservations lie low, as on drivers that take no hint, and where the driver ignores the alignment.
const std::vector<Environment> kPlaces = {
    {}, {{"TESSERA_SOFTWARE_HINTS", "0"}}, {{"TESSERA_SOFTWARE_HINTS", "0"}, {"TESSERA_SOFTWARE_ALIGNS", "0"}}};

TEST(PreloadAddresses, NumbersThatLookLikeAddressesAreNoReasonToBeOutOfMemory) {
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
    place["TESSERA_LOG_LEVEL"] = "error";  // what a program exposes is a warning
    const Outcome ran = run_preloaded(command, place);
    EXPECT_EQ(ran.output, "ok\n");
    EXPECT_EQ(ran.message, "");
  }
}

TEST(PreloadAddresses, AddressesAreFoundWhereverTheyLie) {
  expect_ok_wherever_blocks_lie("./hidden_addresses preload_kernels.so", "22MiB");
  expect_ok_wherever_blocks_lie("./launches preload_kernels.so", "11MiB");
  expect_ok_wherever_blocks_lie("./large_graph preload_kernels.so", "10MiB");
}

TEST(PreloadAddresses, ATableInASharedSegmentIsNeededByThoseWhoUseIt) {
  expect_ok_wherever_blocks_lie("./shared_segment preload_kernels.so", "26MiB");
  expect_ok_wherever_blocks_lie("./shared_segment preload_kernels.so before", "26MiB");
}

// By demand and by plan, as policies differ in what leaves first.
void expect_found_where_it_was_handed_on(const std::string& way) {
  const std::string command = "./handed_addresses handed_kernels.so " + way;
  EXPECT_EQ(run(command, {{"TESSERA_SOFTWARE_MEMORY", "256MiB"}}).output, "ok\n");
  for (const char* policy : {"auto", "recency", "lru"}) {
    const Outcome ran = run_preloaded(command, {{"TESSERA_SOFTWARE_MEMORY", "26MiB"},
                                                {"TESSERA_DEVICE_MEMORY", "16MiB"},
                                                {"TESSERA_POLICY", policy}});
    EXPECT_EQ(ran.output, "ok\n") << policy;
    EXPECT_EQ(ran.message, "") << policy;
  }
}

TEST(PreloadAddresses, AKernelHandsAddressesToTheNextAsForGroupedProducts) {
  expect_found_where_it_was_handed_on("grouped");
}

TEST(PreloadAddresses, AKernelMakesATableFromOneAddressAsForBatchesOfMatrices) {
  expect_found_where_it_was_handed_on("range");
}

TEST(PreloadAddresses, AKernelJoinsTables) { expect_found_where_it_was_handed_on("joined"); }

TEST(PreloadAddresses, AGraphsNodeCopiesATable) { expect_found_where_it_was_handed_on("graph"); }

TEST(PreloadAddresses, ABlockLeavesBehindAKernelThatUsesItUnseen) { expect_found_where_it_was_handed_on("running"); }

// Over a link so slow that the kernels run while the block is copied, on any machine that is not slower still.
TEST(PreloadAddresses, WhatIsWrittenUnseenWhileABlockLeavesIsThereOrTold) {
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

}  // namespace
}  // namespace tessera::programs
