// Device memory outside the heap: memory that driver calls allocate and free, and the free memory reported to programs.
#include <gtest/gtest.h>

#include <string>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

Environment device_of(const std::string& memory, Environment more = {}) {
  more["TESSERA_SOFTWARE_MEMORY"] = memory;
  more.try_emplace("TESSERA_HOST_MEMORY", "256MiB");
  return more;
}

// Half of the device is requested while blocks hold three quarters of it. The driver alone refuses this.
void expect_room_for(const std::string& what, const Environment& environment, const std::string& said = "") {
  const std::string freed = "./driver_memory preload_kernels.so freed " + what;
  const std::string live = "./driver_memory preload_kernels.so live " + what;
  const Outcome alone = run(live, environment);
  EXPECT_NE(alone.exit_code, 0) << "there is room for all of it";
  EXPECT_NE(alone.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << alone.message;
  for (const std::string& command : {freed, live}) {
    const Outcome preloaded = run_preloaded(command, environment);
    EXPECT_EQ(preloaded.output, "ok\n") << command << ": " << preloaded.message;
    EXPECT_EQ(preloaded.message, said) << command;
  }
}

const std::string kSecondContext = "tessera: not in use in a second context on device 0\n";

TEST(DriverMemory, TheHeapMakesRoomForFrames) { expect_room_for("create", device_of("64MiB")); }

TEST(DriverMemory, TheHeapMakesRoomForASecondContextsMemory) {
  expect_room_for("context", device_of("64MiB"), kSecondContext);
}

TEST(DriverMemory, TheHeapMakesRoomForASecondContext) {
  expect_room_for("context", device_of("96MiB", {{"TESSERA_SOFTWARE_CONTEXT", "20MiB"}}), kSecondContext);
}

TEST(DriverMemory, TheHeapMakesRoomForCode) {
  const Environment environment = device_of("64MiB", {{"TESSERA_SOFTWARE_MODULE", "24MiB"}});
  expect_room_for("module", environment);
  expect_room_for("library", environment);
}

TEST(DriverMemory, TheHeapMakesRoomForLocalMemoryOfKernels) {
  expect_room_for("local", device_of("64MiB", {{"TESSERA_SOFTWARE_LOCAL", "24MiB"}}));
}

TEST(DriverMemory, TheHeapMakesRoomForGraphMemory) { expect_room_for("graph", device_of("64MiB")); }

TEST(DriverMemory, UnderAGivenBudgetTheDriverHasTheRestAndMoreOnDemand) {
  expect_room_for("create", device_of("64MiB", {{"TESSERA_DEVICE_MEMORY", "56MiB"}}));
  expect_room_for("create", device_of("64MiB", {{"TESSERA_DEVICE_MEMORY", "64MiB"}}));
}

// A failed call may have left anything in the capture.
TEST(DriverMemory, ACallOnACapturedStreamIsMadeOnce) {
  const Outcome captured = run_preloaded("./driver_memory preload_kernels.so live capture", device_of("64MiB"));
  EXPECT_EQ(captured.output, "ok\n") << captured.message;
}

TEST(DriverMemory, AnImpossibleRequestEvictsNothing) {
  const Outcome refused = run_preloaded("./driver_memory preload_kernels.so live create",
                                        device_of("64MiB", {{"TESSERA_HOST_MEMORY", "2MiB"}}));
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_NE(refused.message.find("cuMemCreate(&handle, want, &properties, 0): CUDA_ERROR_OUT_OF_MEMORY"),
            std::string::npos)
      << refused.message;
}

TEST(DriverMemory, TrimsOfTheDriversPoolsTrimTheHeap) {
  const Outcome trimmed = run_preloaded("./trims", device_of("64MiB"));
  EXPECT_EQ(trimmed.output, "ok\n") << trimmed.message;
}

TEST(DriverMemory, MemoryInfoIsWhatAProgramCanAllocate) {
  EXPECT_EQ(run("./memory_answers", device_of("64MiB")).output, "ok\n");
  const Outcome automatic = run_preloaded("./memory_answers", device_of("64MiB"));
  EXPECT_EQ(automatic.output, "ok\n") << automatic.message;
  const Outcome all = run_preloaded("./memory_answers", device_of("64MiB", {{"TESSERA_DEVICE_MEMORY", "64MiB"}}));
  EXPECT_EQ(all.output, "ok\n") << all.message;
}

TEST(DriverMemory, AnEngineThatWantsNineTenthsOfTheDeviceStarts) {
  const Outcome reported = run_preloaded("./memory_info", device_of("640MiB"));
  EXPECT_EQ(reported.output, "free 620 MiB of 640 MiB\nfree 618 MiB of 640 MiB\n");
}

}  // namespace
}  // namespace tessera::programs
