// Programs that work together through NCCL compute the same under Tessera, on devices too small for them.
//
// NCCL is always the tests' stand-in (tests/programs/nccl/stand_in.c): it accesses the program's buffers through a
// queue in host memory, as NCCL does.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

// A device of 14 MiB for blocks of 16 MiB: 8 MiB for the heap, the rest for NCCL's own memory.
Environment on_small_devices(int devices = 1) {
  const std::string build = TESSERA_TEST_BUILD_DIR;
  return {{"LD_LIBRARY_PATH", build + "/lib/softcuda:" + build + "/lib/tessera/nccl"},
          {"TESSERA_SOFTWARE_MEMORY", "14MiB"},
          {"TESSERA_SOFTWARE_DEVICES", std::to_string(devices)},
          {"TESSERA_DEVICE_MEMORY", "8MiB"},
          {"TESSERA_HOST_MEMORY", "64MiB"}};
}

Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return environment;
}

// The same output as on large enough devices; without Tessera the small ones do not suffice.
void expect_right(const std::string& command, const Environment& small) {
  const Outcome ample = run(command, with(small, "TESSERA_SOFTWARE_MEMORY", "1GiB"));
  EXPECT_EQ(ample.output, "ok\n") << ample.message;
  const Outcome alone = run(command, small);
  EXPECT_NE(alone.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << alone.message;
  const Outcome ran = run_preloaded(command, small);
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
  EXPECT_EQ(ran.message, "");
}

// The amount that stayed in device memory for `reason`.
int exposed_for(const std::string& stats, const std::string& reason) {
  const auto report = nlohmann::json::parse(contents(stats));
  const auto& reasons = report["exposed_bytes_by_reason"];
  return reasons.contains(reason) ? reasons[reason].get<int>() : 0;
}

TEST(NcclPrograms, DevicesOfOneProcessFindTheirBuffersInGroups) {
  expect_right("./nccl_devices groups 2", on_small_devices(2));
}

TEST(NcclPrograms, DefaultStreamsAreThoseOfTheCommunicatorsDevices) {
  expect_right("./nccl_devices default 2", on_small_devices(2));
}

TEST(NcclPrograms, EachThreadHasItsOwnGroup) { expect_right("./nccl_devices threads 2", on_small_devices(2)); }

TEST(NcclPrograms, ALocallyLoadedLibraryReachesItsNccl) {
  expect_right("./nccl_extension groups 2", on_small_devices(2));
}

TEST(NcclPrograms, ACallOutsideOfGroupsFindsItsBuffers) { expect_right("./nccl_devices alone", on_small_devices()); }

TEST(NcclPrograms, ProcessesFindTheirBuffersThroughLookedUpFunctions) {
  expect_right("./nccl_processes blocks", on_small_devices());
}

TEST(NcclPrograms, WorkQueuedLaterByNcclFindsItsBuffers) { expect_right("./nccl_processes later", on_small_devices()); }

// Without the hooks, through the alternative names of NCCL's functions, which are not intercepted.
TEST(NcclPrograms, ACallPastTheHooksFaults) {
  const Outcome right = run("./nccl_devices past", with(on_small_devices(), "TESSERA_SOFTWARE_MEMORY", "1GiB"));
  EXPECT_EQ(right.output, "ok\n") << right.message;
  const Outcome past = run_preloaded("./nccl_devices past", on_small_devices());
  EXPECT_EQ(past.exit_code, 1);
  EXPECT_NE(past.message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << past.message;
}

TEST(NcclPrograms, BuffersOfGraphWorkStayPinnedAndAreCounted) {
  const std::string stats = scratch("s.json");
  const Outcome ran = run_preloaded("./nccl_devices graph 2", with(on_small_devices(2), "TESSERA_STATS", stats));
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
  EXPECT_EQ(ran.message, "tessera: exposed: 8.00 MiB had to stay in device memory: NCCL in a graph\n");
  EXPECT_EQ(exposed_for(stats, "NCCL in a graph"), 8 << 20) << "two blocks of each device";
}

TEST(NcclPrograms, BuffersKeptByNcclStayAndUnregisteredOnesMove) {
  const std::string stats = scratch("s.json");
  const Environment small = with(on_small_devices(), "TESSERA_STATS", stats);
  const Outcome ran = run_preloaded("./nccl_devices kept", small);
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
  EXPECT_NE(ran.message.find("NCCL: evictable memory is not registered"), std::string::npos) << ran.message;
  EXPECT_EQ(exposed_for(stats, "scalar of an NCCL reduction"), 2 << 20);
  EXPECT_EQ(exposed_for(stats, "registered with NCCL"), 0);
  // In this case NCCL registers by address alone.
  const Outcome registered = run_preloaded("./nccl_devices kept", with(small, "NCCL_CUMEM_ENABLE", "0"));
  EXPECT_EQ(registered.output, "ok\n") << registered.message;
  EXPECT_EQ(exposed_for(stats, "registered with NCCL"), 2 << 20);
}

TEST(NcclPrograms, ACollectiveThatDoesNotFitFailsOnAllDevicesOfItsGroup) {
  const Environment tiny =
      with(with(on_small_devices(2), "TESSERA_DEVICE_MEMORY", "2MiB"), "TESSERA_SOFTWARE_HOST_FRAMES", "0");
  const Outcome ran = run_preloaded("./nccl_devices groups 2", tiny);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.message.find("tessera: NCCL: one step of work uses"), std::string::npos) << ran.message;
  EXPECT_NE(ran.message.find("ncclGroupEnd: NCCL's error 1"), std::string::npos) << ran.message;
}

TEST(NcclPrograms, NcclSeesNoPeersAmongTheDevicesOfItsProcess) {
  const std::string peers = "the program: 1, NCCL of one device: 1, NCCL of both: 1, the program: 1\n";
  EXPECT_EQ(run("./nccl_devices peers 2", on_small_devices(2)).output, peers);
  EXPECT_EQ(run_preloaded("./nccl_devices peers 2", on_small_devices(2)).output,
            "the program: 0, NCCL of one device: 1, NCCL of both: 0, the program: 0\n");
  const Environment off = with(on_small_devices(2), "TESSERA_OFF", "1");
  EXPECT_EQ(run_preloaded("./nccl_devices peers 2", off).output, peers);
}

}  // namespace
}  // namespace tessera::programs
