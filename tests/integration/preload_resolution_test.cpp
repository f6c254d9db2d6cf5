// Every way of looking up a driver function returns our hook of exactly that function.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

constexpr const char* kOurs = "libtessera_preload.so";
constexpr const char* kDriver = "libcuda.so.1";
const std::string kNewerDriver = std::string(TESSERA_TEST_BUILD_DIR) + "/tests/newer_driver";

// Look-up -> the library that contains the result.
std::map<std::string, std::string> look_ups(const Outcome& outcome) {
  std::map<std::string, std::string> found;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) found[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return found;
}

class PreloadResolution : public ::testing::Test {
 protected:
  void SetUp() override {
    with_ = look_ups(run_preloaded("./resolve"));
    without_ = look_ups(run("./resolve"));
    ASSERT_FALSE(without_.empty());
  }
  std::map<std::string, std::string> with_, without_;
};

TEST_F(PreloadResolution, BindingAndDlsymSeeTheHooks) {
  EXPECT_EQ(with_["binding cuMemAlloc_v2"], kOurs);
  EXPECT_EQ(with_["dlsym cuMemAlloc_v2"], kOurs);
  EXPECT_EQ(with_["dlsym cuLaunchKernel_ptsz"], kOurs);
  EXPECT_EQ(with_["dlsym cuMemcpyHtoD_v2_ptds"], kOurs);
  EXPECT_EQ(with_["next cuMemAlloc_v2"], kOurs);
  EXPECT_EQ(with_["default cuMemAlloc_v2"], kOurs);
}

TEST_F(PreloadResolution, BothVersionsOfTheLoadersCallsAreOurs) {
  EXPECT_EQ(with_["dlvsym dlsym GLIBC_2.2.5"], kOurs);
  EXPECT_EQ(with_["dlvsym dlsym GLIBC_2.34"], kOurs);
}

TEST_F(PreloadResolution, AddressesByVersionAreThoseOfThatVersion) {
  EXPECT_EQ(with_["version 13000 flags 0 cuMemAlloc"], kOurs);
  EXPECT_EQ(with_["version 12000 flags 1 cuLaunchKernel"], kOurs);
  EXPECT_EQ(with_["version 12000 flags 2 cuLaunchKernel"], kOurs);
  EXPECT_EQ(with_["version 12000 flags 0 cuGetProcAddress"], kOurs);
  EXPECT_EQ(with_["version 11030 flags 0 cuGetProcAddress"], kOurs);
  EXPECT_EQ(with_["first version cuMemFree"], kOurs);
  EXPECT_EQ(with_["version 2000 flags 0 cuMemAlloc"], kDriver) << "it takes 32-bit addresses";
}

TEST_F(PreloadResolution, AFunctionThatTookAnothersNameIsDistinguished) {
  EXPECT_EQ(without_["renamed cuGraphInstantiate"], "yes");
  EXPECT_EQ(with_["renamed cuGraphInstantiate"], "yes");
  EXPECT_EQ(with_["renamed in libcuda"], kOurs);
}

TEST_F(PreloadResolution, OtherSymbolsResolveAsWithoutUs) {
  for (const auto& [look_up, library] : without_) {
    if (with_[look_up] == kOurs) continue;
    EXPECT_EQ(with_[look_up], library) << look_up;
  }
  EXPECT_EQ(with_["next malloc"], without_["next malloc"]);
  EXPECT_EQ(with_["dlsym cuNoSuchName"], "none");
  EXPECT_EQ(with_["dlsym leaves a reason"], "yes");
}

// The CUDA runtime looks up every function it knows: nothing is printed before a call.
TEST_F(PreloadResolution, LookingUpANewerVersionLogsNothing) {
  const Outcome newer = run_preloaded("./newer_versions 99000", {{"LD_LIBRARY_PATH", kNewerDriver}});
  EXPECT_EQ(newer.exit_code, 0);
  const std::string once = std::string("cuMemAlloc: ") + kOurs + "\ncuMemFree: " + kOurs + "\n";
  EXPECT_EQ(newer.output, once + once);
  EXPECT_EQ(newer.message, "");
}

TEST_F(PreloadResolution, ACallOfANewerVersionIsPassedOnWithOneWarning) {
  const Environment future = {{"TESSERA_SOFTWARE_FUTURE", "1"}};
  const Outcome alone = run("./future_calls", future);
  EXPECT_EQ(alone.output, "ok\n") << alone.message;
  const Outcome newer = run_preloaded("./future_calls", future);
  EXPECT_EQ(newer.output, "ok\n");
  EXPECT_EQ(
      newer.message,
      "tessera: cuSoftwareFillAsync is newer than this library and may use managed memory: such use is not tracked\n"
      "tessera: cuMemsetD32Async is newer than this library and may use managed memory: such use is not tracked\n");
}

TEST_F(PreloadResolution, KnownVersionsOfANewerDriverResolveToOurs) {
  const Outcome known = run_preloaded("./newer_versions 13050", {{"LD_LIBRARY_PATH", kNewerDriver}});
  const std::string once = std::string("cuMemAlloc: ") + kOurs + "\ncuMemFree: " + kOurs + "\n";
  EXPECT_EQ(known.output, once + once);
  EXPECT_EQ(known.message, "");
}

TEST_F(PreloadResolution, ALookUpStartsNothing) {
  EXPECT_EQ(run_preloaded("./resolve", {{"TESSERA_DEVICE_MEMORY", "plenty"}}).message, "");
}

}  // namespace
}  // namespace tessera::programs
