// Programs unaware of Tessera compute the same under it, on a device too small for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

const std::string kTrain = "./train --kernels train_kernels.so --steps 4 --layers 8 --width 512 --batch 128";

// The program must not fit without Tessera; under it, the output must be the same as on a large device.
void expect_same_on_small_device(const std::string& command, const std::string& memory, Environment environment = {}) {
  environment["TESSERA_SOFTWARE_MEMORY"] = "1GiB";
  const Outcome ample = run(command, environment);
  ASSERT_EQ(ample.exit_code, 0) << ample.message;
  environment["TESSERA_SOFTWARE_MEMORY"] = memory;
  const Outcome alone = run(command, environment);
  EXPECT_NE(alone.exit_code, 0);
  EXPECT_NE(alone.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << alone.message;
  const Outcome preloaded = run_preloaded(command, environment);
  EXPECT_EQ(preloaded.exit_code, 0) << preloaded.message;
  EXPECT_EQ(preloaded.output, ample.output);
  EXPECT_EQ(preloaded.message, "");
}

int occurrences(const std::string& text, const std::string& of) {
  int count = 0;
  for (auto at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

TEST(PreloadPrograms, TheSmallestProgramAdds) {
  const Outcome added = run_preloaded("./vector_add vector_add_kernels.so");
  EXPECT_EQ(added.exit_code, 0) << added.message;
  EXPECT_EQ(added.output, "ok\n");
}

TEST(PreloadPrograms, EveryFormOfCopySetAndQueryAgrees) { expect_same_on_small_device("./memory_calls", "8MiB"); }

TEST(PreloadPrograms, EveryFormAgreesWithPerThreadDefaultStreams) {
  expect_same_on_small_device("./memory_calls_ptds", "8MiB");
}

TEST(PreloadPrograms, CopiesThroughAnArrayFindTheirBlocks) { expect_same_on_small_device("./arrays", "24MiB"); }

TEST(PreloadPrograms, PartsOfABlockThatIsLargerThanTheDeviceAreCopiedAndLaunchedOn) {
  const Outcome ample = run("./arena preload_kernels.so 288", {{"TESSERA_SOFTWARE_MEMORY", "1GiB"}});
  EXPECT_EQ(ample.output, "ok\nwhole: CUDA_SUCCESS\n") << ample.message;
  const Outcome small = run_preloaded(
      "./arena preload_kernels.so 288",
      {{"TESSERA_SOFTWARE_MEMORY", "224MiB"}, {"TESSERA_DEVICE_MEMORY", "192MiB"}, {"TESSERA_HOST_MEMORY", "512MiB"}});
  EXPECT_EQ(small.exit_code, 0) << small.message;
  EXPECT_EQ(small.output, "ok\nwhole: CUDA_SUCCESS\n");
  const Outcome refused = run_preloaded("./arena preload_kernels.so 288", {{"TESSERA_SOFTWARE_MEMORY", "224MiB"},
                                                                           {"TESSERA_DEVICE_MEMORY", "192MiB"},
                                                                           {"TESSERA_HOST_MEMORY", "512MiB"},
                                                                           {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}});
  EXPECT_EQ(refused.exit_code, 0) << refused.message;
  EXPECT_EQ(refused.output, "ok\nwhole: CUDA_ERROR_OUT_OF_MEMORY\n");
  EXPECT_NE(refused.message.find("288"), std::string::npos) << "it says what is needed: " << refused.message;
}

TEST(PreloadPrograms, AKernelUsesMoreThanTheDevice) {
  for (const std::string way : {"block", "blocks", "graph", "later"}) {
    const std::string command = "./oversized preload_kernels.so " + way + " 96";
    EXPECT_EQ(run(command, {{"TESSERA_SOFTWARE_MEMORY", "256MiB"}}).output, "ok\n") << way;
    Environment little = {
        {"TESSERA_SOFTWARE_MEMORY", "64MiB"}, {"TESSERA_DEVICE_MEMORY", "48MiB"}, {"TESSERA_HOST_MEMORY", "256MiB"}};
    const Outcome small = run_preloaded(command, little);
    EXPECT_EQ(small.output, "ok\n") << way << ": " << small.message;
    EXPECT_THAT(small.message, testing::HasSubstr("a launch uses more memory than the device has")) << way;
    Environment without = little;
    without["TESSERA_SOFTWARE_HOST_FRAMES"] = "0";
    const Outcome refused = run_preloaded(command, without);
    EXPECT_THAT(refused.message, testing::HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")) << way;
  }
}

TEST(PreloadPrograms, EveryWayOfLaunchingFindsItsBlocks) {
  expect_same_on_small_device("./launches preload_kernels.so", "11MiB");
}

TEST(PreloadPrograms, AReusedHandleIsReadWithItsOwnParameters) {
  expect_same_on_small_device("./reloaded preload_kernels.so", "11MiB");
}

TEST(PreloadPrograms, GraphsOfEveryOriginFindTheirBlocksAtEachLaunch) {
  expect_same_on_small_device("./graphs preload_kernels.so", "16MiB");
}

TEST(PreloadPrograms, GraphMemoryIsTheDriversAndIsReported) {
  const std::string stats = scratch("s.json");
  EXPECT_EQ(run("./graph_memory preload_kernels.so").output, "ok\n");
  const Outcome ran = run_preloaded("./graph_memory preload_kernels.so", {{"TESSERA_STATS", stats}});
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["outside"]["graph_peak"].get<int>(), 11 << 20);
  // The program's own three, and 512 bytes of a pool, which a thread need not have reported yet.
  EXPECT_GE(report["blocks"]["peak_live_bytes"].get<int>(), 11 << 20);
  EXPECT_LE(report["blocks"]["peak_live_bytes"].get<int>(), (11 << 20) + 512);
}

TEST(PreloadPrograms, AGraphThatDoesNotFitIsLaunchedInParts) {
  expect_same_on_small_device("./large_graph preload_kernels.so", "10MiB");
}

TEST(PreloadPrograms, PartsKeepTheOrderOfHostFunctionsEventsChildrenAndMemory) {
  expect_same_on_small_device("./mixed_graph preload_kernels.so", "12MiB", {{"TESSERA_DEVICE_MEMORY", "8MiB"}});
}

TEST(PreloadPrograms, AGraphWithOutlivingMemoryIsNotSplit) {
  EXPECT_EQ(run_preloaded("./mixed_graph preload_kernels.so kept").output, "ok\n");
  const Outcome launched = run_preloaded(
      "./mixed_graph preload_kernels.so kept",
      {{"TESSERA_SOFTWARE_MEMORY", "12MiB"}, {"TESSERA_DEVICE_MEMORY", "8MiB"}, {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}});
  EXPECT_EQ(launched.exit_code, 1);
  EXPECT_NE(launched.message.find("tessera: cuGraphLaunch: one step of work uses"), std::string::npos)
      << launched.message;
  EXPECT_NE(launched.message.find("cuGraphLaunch(exec, NULL): CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
      << launched.message;
}

const std::string kConditional = "./conditional_graphs preload_kernels.so conditional_kernels.so";

TEST(PreloadPrograms, ConditionalBodiesFindTheirBlocks) { expect_same_on_small_device(kConditional, "16MiB"); }

TEST(PreloadPrograms, AConditionalGraphIsNotSplit) {
  const Outcome launched =
      run_preloaded(kConditional, {{"TESSERA_DEVICE_MEMORY", "6MiB"}, {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}});
  EXPECT_EQ(launched.exit_code, 1);
  EXPECT_NE(launched.message.find("tessera: cuGraphLaunch: one step of work uses"), std::string::npos)
      << launched.message;
  EXPECT_NE(launched.message.find("cuGraphLaunch(exec, stream): CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
      << launched.message;
}

TEST(PreloadPrograms, AGraphWithATooLargeNodeIsOutOfMemory) {
  const Outcome launched = run_preloaded("./large_graph preload_kernels.so",
                                         {{"TESSERA_DEVICE_MEMORY", "2MiB"}, {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}});
  EXPECT_EQ(launched.exit_code, 1);
  EXPECT_NE(launched.message.find("tessera: cuGraphLaunch: one step of work uses"), std::string::npos)
      << launched.message;
  EXPECT_EQ(occurrences(launched.message, "one step of work uses"), 1) << launched.message;
  EXPECT_NE(launched.message.find("one step of work uses 4 MiB at once"), std::string::npos)
      << "what its largest node needs, not the whole graph: " << launched.message;
  EXPECT_EQ(run_preloaded("./large_graph preload_kernels.so", {{"TESSERA_DEVICE_MEMORY", "4MiB"}}).output, "ok\n");
}

TEST(PreloadPrograms, AFailedAllocationIsExplainedOnce) {
  const Outcome allocated = run_preloaded("./launches preload_kernels.so",
                                          {{"TESSERA_DEVICE_MEMORY", "4MiB"}, {"TESSERA_HOST_MEMORY", "2MiB"}});
  EXPECT_EQ(allocated.exit_code, 1);
  EXPECT_NE(allocated.message.find("tessera: cuMemAlloc: "), std::string::npos) << allocated.message;
  EXPECT_EQ(occurrences(allocated.message, "and no tier has room"), 1) << allocated.message;
}

TEST(PreloadPrograms, MessagesAreBoundedAndTheLastOneReportsIt) {
  const Outcome refused = run_preloaded("./refusals", {{"TESSERA_LOG_LEVEL", "quiet"}});
  EXPECT_EQ(refused.output, "40\n");
  EXPECT_EQ(occurrences(refused.message, "tessera: cuMemAlloc: "), 20) << refused.message;
  const std::string last = "tessera: further messages are suppressed\n";
  EXPECT_EQ(occurrences(refused.message, last), 1) << refused.message;
  EXPECT_TRUE(refused.message.ends_with(last)) << refused.message;
}

TEST(PreloadPrograms, AddressesInPackedStructsTablesMapsAndGlobalsAreFound) {
  expect_same_on_small_device("./hidden_addresses preload_kernels.so", "22MiB",
                              {{"TESSERA_LOG_LEVEL", "error"}});  // it exposes addresses, which is a warning
}

TEST(PreloadPrograms, OverwrittenTableEntriesAreNotFetched) {
  expect_same_on_small_device("./table_rows preload_kernels.so", "12MiB",
                              {{"TESSERA_DEVICE_MEMORY", "6MiB"}, {"TESSERA_HOST_MEMORY", "64MiB"}});
}

TEST(PreloadPrograms, BlocksNamedByAGlobalStayAndAreCounted) {
  const std::string stats = scratch("s.json");
  const Outcome kept = run_preloaded("./hidden_addresses preload_kernels.so", {{"TESSERA_STATS", stats}});
  EXPECT_EQ(kept.exit_code, 0) << kept.message;
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["exposed_bytes_by_reason"].value("pointer outside the heap", 0), 2 << 20) << "of the last";
  EXPECT_TRUE(report["first_call_by_reason"].empty());
  EXPECT_EQ(kept.message, "tessera: exposed: 2.00 MiB had to stay in device memory: pointer outside the heap\n");
}

// Addresses that no call shows, as only kernels write them.
TEST(PreloadPrograms, HostBackedPagesServeUnseenAddresses) {
  const std::string stats = scratch("s.json");
  expect_same_on_small_device(
      "./unseen_addresses preload_kernels.so", "8MiB",
      {{"TESSERA_UNHINTED_ACCESS", "host-backed"}, {"TESSERA_HOST_MEMORY", "64MiB"}, {"TESSERA_STATS", stats}});
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["tessera"].value("unhinted_access", ""), "host-backed");
  EXPECT_GT(report["moves"]["evictions"].get<std::uint64_t>(), 0u);
}

// By default: the blocks are named only where a kernel of one block is given them, and used unseen from then on.
TEST(PreloadPrograms, BlocksThatNoLaunchNamesAreFoundByDefault) {
  const std::string stats = scratch("s.json");
  const Environment plain = {{"TESSERA_HOST_MEMORY", "512MiB"}, {"TESSERA_STATS", stats}};
  for (const char* const ways : {"children", "maps"}) {
    expect_same_on_small_device(std::string("./device_made preload_kernels.so ") + ways, "14MiB", plain);
    const auto report = nlohmann::json::parse(contents(stats));
    EXPECT_EQ(report["tessera"].value("unhinted_access", ""), "by block");
    EXPECT_EQ(report["held"]["left_unreachable"].get<int>(), 0) << ways;
    EXPECT_GT(report["moves"]["evictions"].get<std::uint64_t>(), 0u);
  }
}

// Without host memory at device addresses, eviction relies on what calls show.
TEST(PreloadPrograms, WithoutHostBackedPagesTracksAndPinsUntrackableBlocks) {
  const std::string stats = scratch("s.json");
  const Environment tracked = {{"TESSERA_UNHINTED_ACCESS", "auto"},
                               {"TESSERA_SOFTWARE_HOST_FRAMES", "0"},
                               {"TESSERA_LOG_LEVEL", "error"},
                               {"TESSERA_STATS", stats}};
  expect_same_on_small_device("./launches preload_kernels.so", "11MiB", tracked);
  expect_same_on_small_device("./hidden_addresses preload_kernels.so", "22MiB", tracked);
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["tessera"].value("unhinted_access", "").substr(0, 5), "off: ");
  EXPECT_GT(report["moves"]["evictions"].get<std::uint64_t>(), 0u);
  EXPECT_EQ(report["held"]["exposed_bytes"].get<int>(), 2 << 20);
}

TEST(PreloadPrograms, WithoutHostBackedPagesAnUnseenAddressFaults) {
  for (const Environment& mode :
       {Environment{{"TESSERA_UNHINTED_ACCESS", "off"}},
        Environment{{"TESSERA_UNHINTED_ACCESS", "auto"}, {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}}}) {
    Environment small = mode;
    small["TESSERA_SOFTWARE_MEMORY"] = "8MiB";
    const Outcome faulted = run_preloaded("./unseen_addresses preload_kernels.so", small);
    EXPECT_EQ(faulted.exit_code, 1);
    EXPECT_NE(faulted.message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << faulted.message;
  }
}

// Addresses made by the device, which no call shows: served by host-backed pages, else an error, unless pinned.
void expect_found_if_backed_or_pinned(const std::string& command) {
  Environment small = {{"TESSERA_UNHINTED_ACCESS", "host-backed"}, {"TESSERA_HOST_MEMORY", "64MiB"}};
  expect_same_on_small_device(command, "14MiB", small);
  small["TESSERA_UNHINTED_ACCESS"] = "off";
  small["TESSERA_SOFTWARE_MEMORY"] = "14MiB";
  const Outcome faulted = run_preloaded(command, small);
  EXPECT_EQ(faulted.exit_code, 1);
  EXPECT_NE(faulted.message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << faulted.message;
  const Outcome pinned = run_preloaded(command + " pinned", small);
  EXPECT_EQ(pinned.exit_code, 0) << pinned.message;
  EXPECT_EQ(pinned.output, "ok\n");
}

TEST(PreloadPrograms, AddressesPassedToDeviceLaunchesAreFoundOrReportedOrPinned) {
  expect_found_if_backed_or_pinned("./device_made preload_kernels.so children");
}

TEST(PreloadPrograms, AddressesInDeviceMadeTensorMapsAreFoundOrReportedOrPinned) {
  expect_found_if_backed_or_pinned("./device_made preload_kernels.so maps");
}

TEST(PreloadPrograms, HostBackedPagesServeOrdinaryPrograms) {
  const Environment backed = {{"TESSERA_UNHINTED_ACCESS", "host-backed"}, {"TESSERA_HOST_MEMORY", "96MiB"}};
  expect_same_on_small_device("./launches preload_kernels.so", "11MiB", backed);
  expect_same_on_small_device("./graphs preload_kernels.so", "16MiB", backed);
  expect_same_on_small_device("./crowd preload_kernels.so", "12MiB", backed);
  expect_same_on_small_device("./memory_calls", "8MiB", backed);
}

TEST(PreloadPrograms, WaitsForACopyOnAnotherDevicesStreamOrGraph) {
  expect_same_on_small_device("./two_devices preload_kernels.so", "12MiB", {{"TESSERA_SOFTWARE_DEVICES", "2"}});
}

TEST(PreloadPrograms, ThreadsWithTheirOwnStreamsAgree) {
  expect_same_on_small_device("./crowd preload_kernels.so", "12MiB");
}

// A child lacks its parent's threads, so memory that only these refer to looks leaked to it.
const Environment kNoLeakCheck = {{"LSAN_OPTIONS", "detect_leaks=0"}};

TEST(PreloadPrograms, AForkLeavesTheParentIntact) { expect_same_on_small_device("./forks", "24MiB", kNoLeakCheck); }

TEST(PreloadPrograms, ExitHandlersMayCopyBlocksUntilTheDriverEnds) {
  expect_same_on_small_device("./late_copies", "24MiB");
  EXPECT_EQ(run("./late_copies").output, "ok\nok\n4, no name, 4\n");
}

TEST(PreloadPrograms, AContextOfTheProgramMayEndAndAnotherBegin) {
  expect_same_on_small_device("./contexts", "24MiB", {{"TESSERA_SOFTWARE_DEVICES", "2"}});
}

TEST(PreloadPrograms, ManagesOnlyTheFirstOfTwoContextsOnADevice) {
  const std::string stats = scratch("s.json");
  const Outcome worked =
      run_preloaded("./two_contexts preload_kernels.so",
                    {{"TESSERA_DEVICE_MEMORY", "2MiB"}, {"TESSERA_HOST_MEMORY", "64MiB"}, {"TESSERA_STATS", stats}});
  EXPECT_EQ(worked.exit_code, 0) << worked.message;
  EXPECT_EQ(worked.output, "ok\n");
  EXPECT_EQ(worked.message, "tessera: not in use in a second context on device 0\n");
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["blocks"]["allocations"].get<int>(), 4);
}

TEST(PreloadPrograms, WorkInAGreenContextIsWaitedForAndItsMemoryIsManaged) {
  expect_same_on_small_device("./green_contexts preload_kernels.so primary", "10MiB");
  expect_same_on_small_device("./green_contexts preload_kernels.so green", "10MiB");
}

TEST(PreloadPrograms, BlocksOfPoolsThatAProgramMadeAreOurs) {
  const std::string stats = scratch("s.json");
  EXPECT_EQ(run("./pools").output, "ok\n");
  const Outcome ran = run_preloaded("./pools", {{"TESSERA_STATS", stats}});
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["blocks"]["allocations"].get<int>(), 4);
  EXPECT_EQ(report["blocks"]["frees"].get<int>(), 4);
}

TEST(PreloadPrograms, ZeroByteCopiesAndSetsAlwaysSucceed) {
  const std::string all = "null: 55 of 55\na block: 55 of 55\nits end: 55 of 55\na freed block: 55 of 55\nok\n";
  EXPECT_EQ(run("./zero_bytes").output, all);
  const Outcome ran = run_preloaded("./zero_bytes", {{"TESSERA_SOFTWARE_MEMORY", "64MiB"}});
  EXPECT_EQ(ran.output, all);
  EXPECT_EQ(ran.message, "");
}

TEST(PreloadPrograms, MisuseGetsTheAnswersOfTheDriver) {
  EXPECT_EQ(run_preloaded("./misuse").output, run("./misuse").output);
}

TEST(PreloadPrograms, CallsThatKeepAnAddressPinItsBlockAndAreCounted) {
  const std::string stats = scratch("s.json");
  const Outcome kept = run_preloaded("./kept_addresses", {{"TESSERA_STATS", stats}});
  EXPECT_EQ(kept.exit_code, 0) << kept.message;
  EXPECT_EQ(kept.output, run("./kept_addresses").output);
  const auto report = nlohmann::json::parse(contents(stats));
  const auto& exposed = report["exposed_bytes_by_reason"];
  for (const char* call : {"cuTexObjectCreate", "cuTensorMapEncodeTiled", "cuIpcGetMemHandle", "cuPointerSetAttribute",
                           "cuGraphInstantiate"}) {
    EXPECT_EQ(exposed.value(call, 0), 2 << 20) << call;
  }
  EXPECT_EQ(report["held"]["exposed_bytes"].get<int>(), 5 * (2 << 20))
      << "what the software device does not support keeps nothing";
  EXPECT_EQ(report["held"]["pinned_bytes"].get<int>(), 5 * (2 << 20));
}

// The five above, and four that the software device refuses: each is seen before it is made.
TEST(PreloadPrograms, ABlockIsInDeviceMemoryWhenACallThatMayKeepItIsMade) {
  const std::string stats = scratch("s.json");
  const Outcome kept =
      run_preloaded("./kept_addresses",
                    {{"TESSERA_DEVICE_MEMORY", "12MiB"}, {"TESSERA_HOST_MEMORY", "64MiB"}, {"TESSERA_STATS", stats}});
  EXPECT_EQ(kept.exit_code, 0) << kept.message;
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["moves"]["bytes_in"].get<int>(), 9 * (2 << 20));
}

TEST(PreloadPrograms, OnRequestTheFirstCallThatKeptABlockIsExplained) {
  const std::string stats = scratch("s.json");
  const Outcome kept = run_preloaded("./kept_addresses", {{"TESSERA_STATS", stats}, {"TESSERA_EXPLAIN", "1"}});
  EXPECT_EQ(kept.exit_code, 0) << kept.message;
  const auto calls = nlohmann::json::parse(contents(stats))["first_call_by_reason"];
  EXPECT_EQ(calls.size(), 5u);
  const std::string call = calls.value("cuPointerSetAttribute", "");
  const std::size_t ours = call.find("cuPointerSetAttribute (libtessera_preload.so");
  const std::size_t program = call.find("kept_addresses+");
  EXPECT_LT(ours, program) << call;
  EXPECT_NE(program, std::string::npos) << call;
  EXPECT_NE(kept.message.find("exposed: 2.00 MiB had to stay in device memory: "
                              "cuPointerSetAttribute, first by "),
            std::string::npos)
      << kept.message;
}

TEST(PreloadPrograms, TheMemoryThatAProgramSeesCanBeTheWholeHeap) {
  const Environment budgets = {{"TESSERA_SOFTWARE_MEMORY", "64MiB"},
                               {"TESSERA_DEVICE_MEMORY", "16MiB"},
                               {"TESSERA_HOST_MEMORY", "32MiB"},
                               {"TESSERA_FILE_MEMORY", "48MiB"}};
  EXPECT_EQ(run_preloaded("./memory_info", budgets).output, "free 16 MiB of 64 MiB\nfree 14 MiB of 64 MiB\n");
  Environment enlarged = budgets;
  enlarged["TESSERA_REPORT_MEMORY"] = "virtual";
  EXPECT_EQ(run_preloaded("./memory_info", enlarged).output, "free 96 MiB of 96 MiB\nfree 94 MiB of 96 MiB\n");
}

TEST(PreloadPrograms, TrainingGivesTheSameBitsFromAllThreeTiers) {
  const std::string ample = scratch("ample"), small = scratch("small"), stats = scratch("s.json");
  EXPECT_EQ(run(kTrain + " --losses " + ample).exit_code, 0);
  const Outcome squeezed = run_preloaded(kTrain + " --losses " + small, {{"TESSERA_SOFTWARE_MEMORY", "20MiB"},
                                                                         {"TESSERA_HOST_MEMORY", "8MiB"},
                                                                         {"TESSERA_FILE_MEMORY", "256MiB"},
                                                                         {"TESSERA_FILE_DIR", "/var/tmp"},
                                                                         {"TESSERA_STATS", stats}});
  EXPECT_EQ(squeezed.exit_code, 0) << squeezed.message;
  EXPECT_NE(contents(ample), "");
  EXPECT_EQ(contents(small), contents(ample));
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_GT(report["moves"]["bytes_in"].get<std::uint64_t>(), 0u);
  EXPECT_GT(report["moves"]["bytes_file_read"].get<std::uint64_t>(), 0u);
}

TEST(PreloadPrograms, TrainingBorrowsFromADeviceThatItDoesNotUse) {
  const std::string ample = scratch("a.losses"), lent = scratch("l.losses"), stats = scratch("l.json");
  EXPECT_EQ(run(kTrain + " --losses " + ample).exit_code, 0);
  const Outcome squeezed = run_preloaded(kTrain + " --losses " + lent, {{"TESSERA_SOFTWARE_MEMORY", "64MiB"},
                                                                        {"TESSERA_SOFTWARE_DEVICES", "2"},
                                                                        {"TESSERA_DEVICE_MEMORY", "20MiB"},
                                                                        {"TESSERA_HOST_MEMORY", "64MiB"},
                                                                        {"TESSERA_PEER_MEMORY", "1:16MiB"},
                                                                        {"TESSERA_STATS", stats}});
  EXPECT_EQ(squeezed.exit_code, 0) << squeezed.message;
  EXPECT_NE(contents(ample), "");
  EXPECT_EQ(contents(lent), contents(ample));
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_GT(report["moves"]["bytes_peer_in"].get<std::uint64_t>(), 0u);
  EXPECT_EQ(report["peer"]["peer_capacity"].get<int>(), 16 << 20);
}

TEST(PreloadPrograms, AWorkingSetBeyondTheDeviceIsOutOfMemoryAndNoHang) {
  const Outcome launched = run_preloaded("./launches preload_kernels.so",
                                         {{"TESSERA_DEVICE_MEMORY", "4MiB"}, {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}});
  EXPECT_EQ(launched.exit_code, 1);
  EXPECT_NE(launched.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << launched.message;
}

TEST(PreloadPrograms, AFreedBlockStaysWithTheGraphThatHoldsIt) {
  const Outcome misused = run_preloaded("./graph_misuse preload_kernels.so", {{"TESSERA_SOFTWARE_MEMORY", "12MiB"}});
  EXPECT_EQ(misused.exit_code, 0) << misused.message;
  EXPECT_EQ(misused.output, "ok\n");
}

TEST(PreloadPrograms, AGraphBeyondTheDeviceIsOutOfMemoryAtItsLaunch) {
  const Outcome launched = run_preloaded("./graphs preload_kernels.so",
                                         {{"TESSERA_DEVICE_MEMORY", "6MiB"}, {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}});
  EXPECT_EQ(launched.exit_code, 1);
  EXPECT_NE(launched.message.find("tessera: cuGraphLaunch: one step of work uses"), std::string::npos)
      << launched.message;
  EXPECT_NE(launched.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << launched.message;
}

TEST(PreloadPrograms, ProcessesStartedAlikeCanHaveTheirOwnFiles) {
  const std::filesystem::path folder = scratch("each");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  Environment environment;
  for (const char* kind : {"STATS", "TRACE", "TIMELINE", "HISTORY"}) {
    environment[std::string("TESSERA_") + kind] = (folder / kind).string() + ".%p";
  }
  const Outcome both = run_preloaded("sh -c './memory_info & ./memory_info; wait'", environment);
  EXPECT_EQ(both.exit_code, 0) << both.message;
  std::map<std::string, int> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    EXPECT_GT(file.file_size(), 0u) << file.path();
    ++files[file.path().stem().string()];
  }
  EXPECT_EQ(files, (std::map<std::string, int>{{"STATS", 2}, {"TRACE", 2}, {"TIMELINE", 2}, {"HISTORY", 2}}));
  std::filesystem::remove_all(folder);
}

TEST(PreloadPrograms, StatisticsAreWrittenOnceAlsoWhenChildrenExit) {
  const std::string stats = scratch("s.json");
  Environment environment = kNoLeakCheck;
  environment["TESSERA_STATS"] = stats;
  const Outcome forked = run_preloaded("./forks", environment);
  EXPECT_EQ(forked.exit_code, 0) << forked.message;
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["blocks"]["allocations"].get<int>(), 16);
}

}  // namespace
}  // namespace tessera::programs
