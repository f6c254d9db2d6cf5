// Where Tessera cannot work or is switched off, programs run as without it, and one line gives the reason.
#include <gtest/gtest.h>

#include <algorithm>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

const std::string kAdd = "./vector_add vector_add_kernels.so";

void expect_untouched_with_one_line(const Environment& environment, const std::string& word) {
  const Outcome added = run_preloaded(kAdd, environment);
  EXPECT_EQ(added.exit_code, 0) << added.message;
  EXPECT_EQ(added.output, "ok\n");
  EXPECT_EQ(std::count(added.message.begin(), added.message.end(), '\n'), 1) << added.message;
  EXPECT_NE(added.message.find(word), std::string::npos) << added.message;
}

TEST(PreloadModes, SwitchedOffDoesNotAffectTheProgram) {
  expect_untouched_with_one_line({{"TESSERA_OFF", "1"}}, "off");
  const Outcome misused = run_preloaded("./misuse", {{"TESSERA_OFF", "1"}});
  EXPECT_EQ(misused.output, run("./misuse").output);
}

TEST(PreloadModes, AWrongOptionIsNamed) {
  expect_untouched_with_one_line({{"TESSERA_DEVICE_MEMORY", "plenty"}}, "plenty");
}

TEST(PreloadModes, WithoutVirtualMemoryManagementTheDriverAllocates) {
  expect_untouched_with_one_line({{"TESSERA_SOFTWARE_VMM", "0"}}, "not in use");
}

TEST(PreloadModes, WithoutRequestedHostBackedPagesTheDriverAllocates) {
  expect_untouched_with_one_line({{"TESSERA_UNHINTED_ACCESS", "host-backed"}, {"TESSERA_SOFTWARE_HOST_FRAMES", "0"}},
                                 "host memory cannot be mapped at device addresses");
}

TEST(PreloadModes, AProgramWithoutCudaIsUnaffected) {
  const Outcome plain = run_preloaded("/bin/sh -c 'echo here; exit 3'");
  EXPECT_EQ(plain.exit_code, 3);
  EXPECT_EQ(plain.output, "here\n");
  EXPECT_EQ(plain.message, "");
}

TEST(PreloadModes, WithoutADriverTheProgramFailsAsWithoutUs) {
  const Environment nowhere = {{"LD_LIBRARY_PATH", "/nowhere"}};
  EXPECT_EQ(run_preloaded(kAdd, nowhere).exit_code, run(kAdd, nowhere).exit_code);
}

}  // namespace
}  // namespace tessera::programs
