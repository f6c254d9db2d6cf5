// Blocks shared with another process by legacy handles.
#include <gtest/gtest.h>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

TEST(SharedBlocks, AnotherProcessReadsAndWritesThemWhileOthersMove) {
  const Outcome ran = run_preloaded(
      "./shared_blocks",
      {{"TESSERA_SOFTWARE_MEMORY", "64MiB"}, {"TESSERA_DEVICE_MEMORY", "48MiB"}, {"TESSERA_HOST_MEMORY", "128MiB"}});
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
  EXPECT_EQ(ran.message, "tessera: exposed: 40.0 MiB had to stay in device memory: cuIpcGetMemHandle\n");
}

}  // namespace
}  // namespace tessera::programs
