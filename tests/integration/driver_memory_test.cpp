// Device memory beside the heap: what programs are told is free.
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

TEST(DriverMemory, ProgramsAreToldWhatTheyCouldAllocate) {
  EXPECT_EQ(run("./memory_answers", device_of("64MiB")).output, "ok\n");
  const Outcome automatic = run_preloaded("./memory_answers", device_of("64MiB"));
  EXPECT_EQ(automatic.output, "ok\n") << automatic.message;
  const Outcome all = run_preloaded("./memory_answers", device_of("64MiB", {{"TESSERA_DEVICE_MEMORY", "64MiB"}}));
  EXPECT_EQ(all.output, "ok\n") << all.message;
}

TEST(DriverMemory, AnEngineThatWantsNineTenthsOfTheDeviceStarts) {
  const Outcome told = run_preloaded("./memory_info", device_of("640MiB"));
  EXPECT_EQ(told.output, "free 620 MiB of 640 MiB\nfree 618 MiB of 640 MiB\n");
}

}  // namespace
}  // namespace tessera::programs
