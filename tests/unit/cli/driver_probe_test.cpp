#include "driver_probe.hpp"

#include <gtest/gtest.h>

namespace {

TEST(DriverProbe, ALibraryThatIsNotThereIsNotFound) {
  const DriverFacts facts = probe_driver("/no/such/libcuda.so.1");
  EXPECT_FALSE(facts.found);
  EXPECT_FALSE(facts.usable());
  EXPECT_NE(facts.problem, "");
}

TEST(DriverProbe, ALibraryOfAnotherKindIsNoDriver) {
  const DriverFacts facts = probe_driver("libm.so.6");
  EXPECT_TRUE(facts.found);
  EXPECT_NE(facts.problem.find("entry points are missing"), std::string::npos);
}

TEST(DriverProbe, TheSoftwareDeviceIsUsable) {
  const std::string library = std::string(TESSERA_TEST_BUILD_DIR) + "/lib/softcuda/libcuda.so.1";
  const DriverFacts facts = probe_driver(library);
  ASSERT_TRUE(facts.usable()) << facts.problem;
  EXPECT_EQ(facts.path, library);
  EXPECT_GE(facts.version, 12000);
  EXPECT_TRUE(facts.tells_parameters);
  EXPECT_TRUE(facts.devices[0].virtual_memory);
  EXPECT_TRUE(facts.devices[0].pins_host_memory);
  EXPECT_TRUE(facts.devices[0].host_frames) << facts.devices[0].host_frames_problem;
  EXPECT_EQ(facts.devices[0].total_bytes, 1u << 30);
}

}  // namespace
