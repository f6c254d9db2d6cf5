// Programs with several contexts per device, with contexts that come and go, and with several devices.
#include <gtest/gtest.h>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

// `answers` to each query, whenever it is made; `enabled`: the results of enabling and disabling.
std::string peer_report(const std::string& answers, const std::string& enabled, const std::string& pool) {
  const std::string enabling = "flags: CUDA_ERROR_INVALID_VALUE\nits own: CUDA_ERROR_INVALID_CONTEXT\n" + enabled +
                               "disable again: CUDA_ERROR_PEER_ACCESS_NOT_ENABLED\n";
  return "without contexts: " + answers + "\nwith a context of one: " + answers +
         "\nwith contexts of both: " + answers + "\n" + enabling + "with memory of one: " + answers + "\n" + enabling +
         "with memory of both: " + answers + "\n" + "its default pool: " + pool +
         "\na pool of the program: CUDA_SUCCESS\naccess: 3\n" + "a pool with a block: " + pool +
         "\nof device 1 and its context, access: 0, its own: 3\n";
}

// Frameworks open all devices, query, and enable; or query before they open one.
TEST(PreloadContexts, DevicesOfOneProcessAreNeverPeers) {
  const Environment two = {{"TESSERA_SOFTWARE_DEVICES", "2"}};
  const Environment off = {{"TESSERA_SOFTWARE_DEVICES", "2"}, {"TESSERA_OFF", "1"}};
  const std::string peers =
      peer_report("1 1 1", "enable: CUDA_SUCCESS\ndisable: CUDA_SUCCESS\n", "CUDA_SUCCESS\naccess: 3");
  for (const char* contexts : {"primary", "own"}) {
    const std::string command = std::string("./peers ") + contexts;
    EXPECT_EQ(run(command, two).output, peers);
    EXPECT_EQ(run_preloaded(command, off).output, peers);
    const Outcome reported = run_preloaded(command, two);
    EXPECT_EQ(reported.output, peer_report("0 0 0",
                                           "enable: CUDA_ERROR_PEER_ACCESS_UNSUPPORTED\n"
                                           "disable: CUDA_ERROR_PEER_ACCESS_NOT_ENABLED\n",
                                           "CUDA_ERROR_INVALID_VALUE\naccess: 0"));
    EXPECT_EQ(reported.message,
              "tessera: no peer access: kernels can use only blocks of their own device; copies can use "
              "blocks of any device\n");
  }
}

TEST(PreloadContexts, AnEarlierHelperContextDoesNotExcludeThePrimaryOne) {
  const Environment ample = {{"TESSERA_SOFTWARE_MEMORY", "96MiB"}};
  const Environment small = {
      {"TESSERA_SOFTWARE_MEMORY", "48MiB"}, {"TESSERA_DEVICE_MEMORY", "24MiB"}, {"TESSERA_HOST_MEMORY", "64MiB"}};
  for (const char* what : {"keep", "free", "end", "gone"}) {
    const std::string command = std::string("./helper_context preload_kernels.so ") + what;
    EXPECT_EQ(run(command, ample).output, "ok\n");
    const Outcome ran = run_preloaded(command, small);
    EXPECT_EQ(ran.output, "ok\n") << what << ": " << ran.message;
    std::string expected = std::string(what) == "gone"
                               ? ""
                               : "tessera: device 0: switching to the primary context; blocks of the previous "
                                 "context stay in device memory\n";
    if (std::string(what) == "free") expected += "tessera: not in use in a second context on device 0\n";
    EXPECT_EQ(ran.message, expected) << what;
  }
}

// The helper is on all of them, or on one, and the framework comes to that one last.
TEST(PreloadContexts, EarlierHelperContextsOfSeveralDevicesDoNotExcludeThePrimaryOnes) {
  const Environment ample = {{"TESSERA_SOFTWARE_MEMORY", "96MiB"}, {"TESSERA_SOFTWARE_DEVICES", "3"}};
  const Environment small = {{"TESSERA_SOFTWARE_MEMORY", "48MiB"},
                             {"TESSERA_SOFTWARE_DEVICES", "3"},
                             {"TESSERA_DEVICE_MEMORY", "24MiB"},
                             {"TESSERA_HOST_MEMORY", "192MiB"}};
  const auto switching = [](int device) {
    return "tessera: device " + std::to_string(device) +
           ": switching to the primary context; blocks of the previous context stay in device memory\n";
  };
  for (const std::string what : {"keep", "free", "end", "late"}) {
    const std::string command = "./helper_context preload_kernels.so " + what + " 3";
    EXPECT_EQ(run(command, ample).output, "ok\n");
    const Outcome ran = run_preloaded(command, small);
    EXPECT_EQ(ran.output, "ok\n") << what << ": " << ran.message;
    std::string expected = switching(0);
    if (what != "late") expected += switching(1) + switching(2);
    if (what == "free") {
      for (const char* device : {"0", "1", "2"}) {
        expected += std::string("tessera: not in use in a second context on device ") + device + "\n";
      }
    }
    EXPECT_EQ(ran.message, expected) << what;
  }
}

// Together with its blocks, which the end of a context frees.
void expect_cycles(const std::string& how, int devices) {
  const std::string command = "./primary_cycles " + how + " " + std::to_string(devices);
  Environment environment = {{"TESSERA_SOFTWARE_DEVICES", std::to_string(devices)},
                             {"TESSERA_SOFTWARE_MEMORY", "32MiB"},
                             {"TESSERA_HOST_MEMORY", "64MiB"}};
  EXPECT_EQ(run(command, environment).output, "ok\n") << command;
  environment["TESSERA_SOFTWARE_MEMORY"] = "12MiB";
  const Outcome ran = run_preloaded(command, environment);
  EXPECT_EQ(ran.output, "ok\n") << command << ": " << ran.message;
  EXPECT_EQ(ran.message, "") << command;
}

TEST(PreloadContexts, ThePrimaryContextMayBeReleasedAndRetainedAgain) {
  for (const char* end : {"release", "reset", "both"}) {
    for (const char* blocks : {" alive", " freed"}) expect_cycles(std::string(end) + blocks, 1);
  }
}

TEST(PreloadContexts, PrimaryContextsOfSeveralDevicesMayBeReleasedTogether) {
  expect_cycles("release alive", 2);
  expect_cycles("release freed", 2);
}

TEST(PreloadContexts, PoolMemoryBelongsToItsPoolAndNoContext) {
  const Outcome alone = run("./whose_pointer");
  const Outcome under = run_preloaded("./whose_pointer");
  EXPECT_EQ(alone.exit_code, 0) << alone.message;
  EXPECT_NE(alone.output.find("\ncuMemAllocAsync: context none, pool the default one,"), std::string::npos);
  EXPECT_NE(alone.output.find("\nfrom the program's pool: context none, pool the program's,"), std::string::npos);
  EXPECT_EQ(alone.output.rfind("cuMemAlloc: context the current one, pool none,", 0), 0U) << alone.output;
  EXPECT_EQ(under.output, alone.output);
  EXPECT_EQ(under.message, "");
}

}  // namespace
}  // namespace tessera::programs
